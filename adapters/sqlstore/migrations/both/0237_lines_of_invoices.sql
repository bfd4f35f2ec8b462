-- +goose Up
-- Whether the gateway has more lines of an invoice than are stored. Older invoices get this when they are read again.
ALTER TABLE payment_invoices ADD COLUMN has_more_lines BOOLEAN NOT NULL DEFAULT FALSE;
