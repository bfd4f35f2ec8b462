-- +goose Up
-- The item of a subscription that is the plan's, with the price that is paid, as JSON; empty if it is not known yet. When
-- the subscription is set to end, and whether its pending change was scheduled at the gateway, without Atrium.
ALTER TABLE payment_subscriptions ADD COLUMN item TEXT NOT NULL DEFAULT '';
ALTER TABLE payment_subscriptions ADD COLUMN ends_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payment_subscriptions ADD COLUMN pending_elsewhere BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE payment_subscriptions SET ends_at = period_end WHERE cancel_at_period_end AND ended_at = 0;
