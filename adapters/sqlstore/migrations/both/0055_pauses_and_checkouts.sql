-- +goose Up
-- Until when a call may be creating a checkout page, and the key of the call that created the last page, if the card of
-- its trial was not examined yet.
ALTER TABLE payment_customers ADD COLUMN checking_out BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payment_customers ADD COLUMN checkout_trial TEXT NOT NULL DEFAULT '';
-- Whether the payment of a subscription is paused, until when the workspace has paid then, and why the subscription is
-- cancelled, as JSON; empty if no one has said.
ALTER TABLE payment_subscriptions ADD COLUMN paused BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE payment_subscriptions ADD COLUMN paid_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payment_subscriptions ADD COLUMN cancellation TEXT NOT NULL DEFAULT '';
