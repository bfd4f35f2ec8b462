-- +goose Up
-- All items of a subscription, as JSON; empty until it is read again.
ALTER TABLE payment_subscriptions ADD COLUMN items TEXT NOT NULL DEFAULT '';
