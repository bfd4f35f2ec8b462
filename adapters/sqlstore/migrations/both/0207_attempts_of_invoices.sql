-- +goose Up
-- Which subscription an invoice bills, and how often it was charged. Older invoices get these when they are read again.
ALTER TABLE payment_invoices ADD COLUMN subscription_id TEXT NOT NULL DEFAULT '';
ALTER TABLE payment_invoices ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payment_invoices ADD COLUMN next_attempt_at BIGINT NOT NULL DEFAULT 0;
-- What a schedule changes after the next change, as JSON; empty if it changes nothing more.
ALTER TABLE payment_subscriptions ADD COLUMN later_changes TEXT NOT NULL DEFAULT '';
