-- +goose Up
-- Times are microseconds since 1970 in UTC, 0 for none; identifiers sort by the time they were made.
CREATE TABLE orgs (
    id   TEXT PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE
);

-- What a keyring must be able to open before the data that it sealed is touched.
CREATE TABLE keyring (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    check_value BLOB NOT NULL
);

CREATE TABLE users (
    id                   TEXT PRIMARY KEY,
    org_id               TEXT NOT NULL REFERENCES orgs (id),
    email                TEXT NOT NULL,
    email_key            TEXT NOT NULL,
    email_verified       BOOLEAN NOT NULL,
    name                 TEXT NOT NULL,
    service              BOOLEAN NOT NULL,
    operator             BOOLEAN NOT NULL,
    operator_by_hand     BOOLEAN NOT NULL,
    default_workspace_id TEXT NOT NULL,
    revision             BIGINT NOT NULL,
    created_at           BIGINT NOT NULL,
    updated_at           BIGINT NOT NULL
);
CREATE UNIQUE INDEX users_email ON users (org_id, email_key) WHERE email_key <> '';

-- Who signs in as whom: an account may be linked to several issuers.
CREATE TABLE sign_ins (
    org_id     TEXT NOT NULL REFERENCES orgs (id),
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    user_id    TEXT NOT NULL REFERENCES users (id),
    issued_at  BIGINT NOT NULL, -- of the newest token that was settled
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org_id, issuer, subject)
);
CREATE INDEX sign_ins_user ON sign_ins (user_id);

CREATE TABLE workspaces (
    id         TEXT PRIMARY KEY,
    org_id     TEXT NOT NULL REFERENCES orgs (id),
    slug       TEXT NOT NULL,
    name       TEXT NOT NULL,
    created_by TEXT NOT NULL, -- empty: the system
    revision   BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX workspaces_slug ON workspaces (org_id, slug);
CREATE INDEX workspaces_maker ON workspaces (created_by) WHERE created_by <> '';

CREATE TABLE memberships (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    user_id      TEXT NOT NULL REFERENCES users (id),
    role         INTEGER NOT NULL,
    by_hand      INTEGER NOT NULL,
    revision     BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id);

CREATE TABLE invitations (
    id           TEXT PRIMARY KEY,
    org_id       TEXT NOT NULL REFERENCES orgs (id),
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    email        TEXT NOT NULL,
    email_key    TEXT NOT NULL,
    role         INTEGER NOT NULL,
    hash         BLOB NOT NULL,
    invited_by   TEXT NOT NULL,
    mailed_at    BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    open         BOOLEAN NOT NULL,
    revision     BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE UNIQUE INDEX invitations_hash ON invitations (hash);
CREATE UNIQUE INDEX invitations_email ON invitations (workspace_id, email_key) WHERE open;
CREATE INDEX invitations_mailed ON invitations (workspace_id, email_key, mailed_at);

CREATE TABLE api_keys (
    id           TEXT PRIMARY KEY,
    org_id       TEXT NOT NULL REFERENCES orgs (id),
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    user_id      TEXT NOT NULL REFERENCES users (id),
    service      BOOLEAN NOT NULL,
    name         TEXT NOT NULL,
    ceiling      INTEGER NOT NULL,
    hash         BLOB NOT NULL,
    hint         TEXT NOT NULL,
    expires_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    revoked_at   BIGINT NOT NULL,
    created_by   TEXT NOT NULL,
    made_by_key  TEXT NOT NULL, -- empty: a person signed in
    revision     BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE UNIQUE INDEX api_keys_hash ON api_keys (hash);
CREATE INDEX api_keys_workspace ON api_keys (workspace_id, id);
CREATE INDEX api_keys_user ON api_keys (workspace_id, user_id);
CREATE INDEX api_keys_made_by ON api_keys (made_by_key) WHERE made_by_key <> '';

CREATE TABLE events (
    id           TEXT PRIMARY KEY,
    org_id       TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    type         TEXT NOT NULL,
    actor_id     TEXT NOT NULL,
    key_id       TEXT NOT NULL,
    subject      TEXT NOT NULL,
    data         TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    request_id   TEXT NOT NULL,
    address      TEXT NOT NULL
);
CREATE INDEX events_workspace ON events (workspace_id, id);
CREATE INDEX events_subject ON events (workspace_id, subject, id);
CREATE INDEX events_created ON events (created_at);

CREATE TABLE idempotency_keys (
    scope      BLOB PRIMARY KEY,
    org_id     TEXT NOT NULL,
    request    BLOB NOT NULL,
    attempt    TEXT NOT NULL,
    until      BIGINT NOT NULL,
    status     INTEGER NOT NULL,
    header     TEXT NOT NULL,
    body       BLOB NOT NULL,
    reveals    TEXT NOT NULL,
    erase_at   BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);
CREATE INDEX idempotency_keys_reveals ON idempotency_keys (reveals) WHERE reveals <> '';
CREATE INDEX idempotency_keys_erasure ON idempotency_keys (erase_at) WHERE erase_at > 0;
