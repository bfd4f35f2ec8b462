-- +goose Up
-- The last changes of the subscription that were made, as JSON, so that a repeated call gets an answer; empty for none.
ALTER TABLE payment_customers ADD COLUMN done TEXT NOT NULL DEFAULT '';
