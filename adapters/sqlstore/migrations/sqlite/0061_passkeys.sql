-- +goose Up
-- WebAuthn credentials of people. host is the relying party that a credential is bound to, credential_id is chosen by
-- the authenticator, public_key is a COSE_Key.
CREATE TABLE passkeys (
    id            TEXT PRIMARY KEY,
    org_id        TEXT NOT NULL REFERENCES orgs (id),
    user_id       TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    host          TEXT NOT NULL,
    credential_id BLOB NOT NULL,
    public_key    BLOB NOT NULL,
    sign_count    BIGINT NOT NULL,
    synced        BOOLEAN NOT NULL,
    name          TEXT NOT NULL,
    revision      BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    last_used_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX passkeys_credential ON passkeys (org_id, credential_id);
CREATE INDEX passkeys_user ON passkeys (user_id, id);

-- Challenges that were answered, until they end: each works once. hash is the SHA-256 of the challenge.
CREATE TABLE passkey_challenges (
    hash       BLOB PRIMARY KEY,
    org_id     TEXT NOT NULL REFERENCES orgs (id),
    expires_at BIGINT NOT NULL
);
CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at);
