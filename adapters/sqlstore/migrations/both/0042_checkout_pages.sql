-- +goose Up
-- When the last checkout page of the customer ends, on which a payer can start a subscription.
ALTER TABLE payment_customers ADD COLUMN checkout_until BIGINT NOT NULL DEFAULT 0;
