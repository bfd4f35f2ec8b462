-- +goose Up
-- The discount of a subscription as JSON, and the promotion code that it was bought with; empty for none.
ALTER TABLE payment_subscriptions ADD COLUMN discount TEXT NOT NULL DEFAULT '';
ALTER TABLE payment_subscriptions ADD COLUMN promotion_code TEXT NOT NULL DEFAULT '';
-- What discounts deducted from an invoice, and the discounts as JSON; empty for none.
ALTER TABLE payment_invoices ADD COLUMN discount BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payment_invoices ADD COLUMN discounts TEXT NOT NULL DEFAULT '';
