-- +goose Up
-- Live subscriptions beside the one that counts, as a JSON array of their identifiers; empty for none.
ALTER TABLE payment_customers ADD COLUMN surplus TEXT NOT NULL DEFAULT '';
CREATE INDEX payment_customers_surplus ON payment_customers (org_id, account, workspace_id) WHERE surplus <> '';
-- When a renewal failed first of those that are unpaid; 0 for none.
ALTER TABLE payment_subscriptions ADD COLUMN past_due_since BIGINT NOT NULL DEFAULT 0;
