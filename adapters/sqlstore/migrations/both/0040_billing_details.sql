-- +goose Up
-- Billing details that people have entered, and those that the gateway is known to have, as JSON; empty for
-- none. details_key is the key of the call that gives it others; empty for none.
ALTER TABLE payment_customers ADD COLUMN details_entered TEXT NOT NULL DEFAULT '';
ALTER TABLE payment_customers ADD COLUMN details_given TEXT NOT NULL DEFAULT '';
ALTER TABLE payment_customers ADD COLUMN details_key TEXT NOT NULL DEFAULT '';
-- The billing details that an invoice shows, as JSON; empty if they are unknown.
ALTER TABLE payment_invoices ADD COLUMN billed_to TEXT NOT NULL DEFAULT '';
