-- +goose Up
-- The key of fingerprints, sealed; empty until the first start that knows of it.
ALTER TABLE keyring ADD COLUMN fingerprint_key BLOB NOT NULL DEFAULT '';

CREATE TABLE connections (
    id                  TEXT PRIMARY KEY,
    org_id              TEXT NOT NULL,
    workspace_id        TEXT NOT NULL REFERENCES workspaces (id),
    kind                TEXT NOT NULL,
    name                TEXT NOT NULL,
    status              TEXT NOT NULL,
    config              TEXT NOT NULL,
    secrets             TEXT NOT NULL,
    fingerprint         TEXT NOT NULL,
    secret_updated_at   BIGINT NOT NULL,
    credential_revision BIGINT NOT NULL,
    server_product      TEXT NOT NULL,
    server_version      TEXT NOT NULL,
    server_can_write    BOOLEAN NOT NULL,
    checks              TEXT NOT NULL,
    failed              TEXT NOT NULL,
    failed_at           BIGINT NOT NULL,
    failures            INTEGER NOT NULL,
    last_verified_at    BIGINT NOT NULL,
    created_by          TEXT NOT NULL,
    revoked_at          BIGINT NOT NULL,
    revision            BIGINT NOT NULL,
    created_at          BIGINT NOT NULL,
    updated_at          BIGINT NOT NULL
);
CREATE INDEX connections_live ON connections (workspace_id, id) WHERE revoked_at = 0;
CREATE INDEX connections_revoked ON connections (workspace_id, id) WHERE revoked_at > 0;

-- Apart from the connections, so that no read of one can bring its credential along.
CREATE TABLE connection_credentials (
    connection_id TEXT PRIMARY KEY REFERENCES connections (id) ON DELETE CASCADE,
    sealed        BLOB NOT NULL
);

-- When each workspace probed, and when each target was probed.
CREATE TABLE probe_attempts (
    scope    TEXT PRIMARY KEY,
    attempts TEXT NOT NULL,
    last_at  BIGINT NOT NULL
);
