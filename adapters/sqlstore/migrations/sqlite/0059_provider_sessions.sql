-- +goose Up
-- What an OpenID provider proved when it opened a session, or a code that opens one: issuer, subject, and the provider's
-- own session (sid). Empty for other sessions and for links. bound_hash is the SHA-256 of the secret in the cookie of
-- the browser that may use the code; empty for a link, which any browser may use.
ALTER TABLE sessions ADD COLUMN issuer TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN subject TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN provider_session TEXT NOT NULL DEFAULT '';
CREATE INDEX sessions_subject ON sessions (org_id, issuer, subject) WHERE ended_at = 0 AND issuer <> '';
CREATE INDEX sessions_provider ON sessions (org_id, issuer, provider_session) WHERE ended_at = 0 AND issuer <> '';
CREATE INDEX sessions_idle ON sessions (last_seen_at) WHERE ended_at = 0;

ALTER TABLE sign_in_links ADD COLUMN issuer TEXT NOT NULL DEFAULT '';
ALTER TABLE sign_in_links ADD COLUMN subject TEXT NOT NULL DEFAULT '';
ALTER TABLE sign_in_links ADD COLUMN provider_session TEXT NOT NULL DEFAULT '';
ALTER TABLE sign_in_links ADD COLUMN bound_hash BLOB NOT NULL DEFAULT x'';

-- Logout tokens that were used, so that each counts once: the SHA-256 of issuer and jti.
CREATE TABLE logout_tokens (
    org_id     TEXT NOT NULL REFERENCES orgs (id),
    hash       BLOB NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (org_id, hash)
);
CREATE INDEX logout_tokens_expiry ON logout_tokens (expires_at);
