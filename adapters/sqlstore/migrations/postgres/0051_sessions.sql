-- +goose Up
-- The sessions of browsers: cookie_hash and proof_hash are SHA-256 of the two secrets. key_id and workspace_id are
-- empty unless an API key opened the session. ended_at is 0 for a session that was not ended.
CREATE TABLE sessions (
    id           TEXT COLLATE "C" PRIMARY KEY,
    org_id       TEXT COLLATE "C" NOT NULL REFERENCES orgs (id),
    user_id      TEXT COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    cookie_hash  BYTEA NOT NULL UNIQUE,
    proof_hash   BYTEA NOT NULL,
    source       TEXT NOT NULL,
    key_id       TEXT COLLATE "C" NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    agent        TEXT NOT NULL,
    address      TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    ended_at     BIGINT NOT NULL
);
CREATE INDEX sessions_live ON sessions (user_id, id) WHERE ended_at = 0;
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- The session whose bearer got the ticket: the hash of its cookie, empty for another credential.
ALTER TABLE stream_tickets ADD COLUMN session_hash BYTEA NOT NULL DEFAULT '';

-- The session of the request that caused the event, empty for another credential.
ALTER TABLE events ADD COLUMN session_id TEXT NOT NULL DEFAULT '';
