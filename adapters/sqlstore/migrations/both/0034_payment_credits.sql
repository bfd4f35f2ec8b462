-- +goose Up
-- Whether a change of the subscription waits for the payer to authenticate its payment.
ALTER TABLE payment_subscriptions ADD COLUMN confirming BOOLEAN NOT NULL DEFAULT FALSE;
-- What the customer has to its credit at the gateway, in the minor unit of the currency.
ALTER TABLE payment_customers ADD COLUMN credit BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payment_customers ADD COLUMN credit_currency TEXT NOT NULL DEFAULT '';
