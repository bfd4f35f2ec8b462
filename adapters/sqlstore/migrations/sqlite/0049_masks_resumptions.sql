-- +goose Up

-- What others see of a user while the user is invisible (presence.Mask). hidden_seq is 0 while the user is visible. A
-- node of the version before leaves the columns as they are: they count only while the user's claim says invisible.
ALTER TABLE presences ADD COLUMN hidden_seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE presences ADD COLUMN hidden_text TEXT NOT NULL DEFAULT '';
ALTER TABLE presences ADD COLUMN hidden_emoji TEXT NOT NULL DEFAULT '';
ALTER TABLE presences ADD COLUMN hidden_active_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE presences ADD COLUMN hidden_seen_at BIGINT NOT NULL DEFAULT 0;

-- Stream tickets that were used. They resume their own stream, until expires_at. They are in a table of their own, so
-- that a node of the version before does not accept them again.
CREATE TABLE stream_resumptions (
    hash       BLOB PRIMARY KEY,
    org_id     TEXT NOT NULL REFERENCES orgs (id),
    key_hash   BLOB NOT NULL,
    session_hash BLOB,
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    until      BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX stream_resumptions_expiry ON stream_resumptions (expires_at);

-- Which keys and invitations Sweep removes.
CREATE INDEX api_keys_revoked ON api_keys (revoked_at) WHERE revoked_at > 0;
CREATE INDEX api_keys_expiry ON api_keys (expires_at) WHERE expires_at > 0;
CREATE INDEX invitations_expiry ON invitations (expires_at);
