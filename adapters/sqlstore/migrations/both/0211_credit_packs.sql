-- +goose Up
-- What purchases of credit packs have added to the limits of workspaces.
CREATE TABLE credit_packs (
	workspace_id TEXT NOT NULL,
	account TEXT NOT NULL,
	invoice_id TEXT NOT NULL, -- that paid it
	feature TEXT NOT NULL,
	pack_id TEXT NOT NULL,
	granted BIGINT NOT NULL,
	used BIGINT NOT NULL DEFAULT 0,
	bought_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL, -- 0: it does not expire
	refunded BOOLEAN NOT NULL,
	disputed BOOLEAN NOT NULL,
	PRIMARY KEY (workspace_id, account, feature, invoice_id),
	FOREIGN KEY (workspace_id, account) REFERENCES payment_customers (workspace_id, account) ON DELETE CASCADE
);
-- The credit packs that an invoice sells, as JSON; empty if it sells none.
ALTER TABLE payment_invoices ADD COLUMN pack TEXT NOT NULL DEFAULT '';
-- Of used, what credit packs have paid for.
ALTER TABLE feature_usage ADD COLUMN from_packs BIGINT NOT NULL DEFAULT 0;
