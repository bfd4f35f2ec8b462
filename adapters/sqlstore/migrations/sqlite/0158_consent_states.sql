-- +goose Up

-- The states of people's consents to connections that were used: their SHA-256. A consent works once.
CREATE TABLE consent_states (
    hash       BLOB PRIMARY KEY,
    org_id     TEXT NOT NULL REFERENCES orgs (id),
    expires_at BIGINT NOT NULL
);
CREATE INDEX consent_states_expiry ON consent_states (expires_at);
