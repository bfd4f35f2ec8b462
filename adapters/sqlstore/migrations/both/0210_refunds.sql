-- +goose Up

-- What is left to be paid of an invoice, what was refunded, and the disputes about it. The next read of the gateway fills
-- in what is missing here: nodes of the previous version do not write it.
ALTER TABLE payment_invoices ADD COLUMN amount_remaining BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payment_invoices ADD COLUMN amount_refunded BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payment_invoices ADD COLUMN disputes TEXT NOT NULL DEFAULT '';
ALTER TABLE payment_invoices ADD COLUMN reason TEXT NOT NULL DEFAULT '';
UPDATE payment_invoices SET amount_remaining = amount_due - amount_paid WHERE status IN ('draft', 'open', 'uncollectible');
