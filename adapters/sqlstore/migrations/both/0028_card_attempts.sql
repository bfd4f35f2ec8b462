-- +goose Up
-- Recent attempts to add and to charge cards, as JSON; empty for none. paused_at is 0 while payments
-- of the workspace are not paused.
ALTER TABLE payment_customers ADD COLUMN card_attempts TEXT NOT NULL DEFAULT '';
ALTER TABLE payment_customers ADD COLUMN paused_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX payment_customers_paused ON payment_customers (org_id, account, workspace_id) WHERE paused_at > 0;
