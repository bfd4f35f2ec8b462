-- +goose Up
-- With what trials were begun: digests of the addresses of owners and of the fingerprints of cards. A row outlives its
-- workspace, so that a deleted workspace does not give another trial.
CREATE TABLE payment_trials (
    org_id       TEXT NOT NULL,
    account      TEXT NOT NULL,
    kind         TEXT NOT NULL,
    digest       TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (org_id, account, kind, digest)
);
CREATE INDEX payment_trials_workspace ON payment_trials (org_id, account, workspace_id);
-- The gateway's fingerprint of a card, the same for all customers; empty if it is unknown.
ALTER TABLE payment_methods ADD COLUMN fingerprint TEXT NOT NULL DEFAULT '';
