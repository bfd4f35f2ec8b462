-- +goose Up
-- Reported usage that the gateway bills and has not counted yet. tried_at is when an event was first sent without a
-- known outcome; 0 if it was not.
CREATE TABLE usage_events (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id           TEXT NOT NULL,
    account      TEXT NOT NULL,
    customer     TEXT NOT NULL,
    feature      TEXT NOT NULL,
    price_ref    TEXT NOT NULL,
    quantity     BIGINT NOT NULL,
    at           BIGINT NOT NULL,
    tried_at     BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX usage_events_oldest ON usage_events (workspace_id, account, at, id);
-- The lines of an invoice, as JSON; empty if they are not known.
ALTER TABLE payment_invoices ADD COLUMN lines TEXT NOT NULL DEFAULT '';
