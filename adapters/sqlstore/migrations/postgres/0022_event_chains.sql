-- +goose Up
-- signature: a keyed hash of the event, NULL if a release without chains wrote it. chain_seq and chain_hash
-- are set soon after, when the event is linked into the chain of its workspace; 0 until then.
ALTER TABLE events ADD COLUMN signature BYTEA;
ALTER TABLE events ADD COLUMN chain_seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE events ADD COLUMN chain_hash BYTEA;
CREATE INDEX events_unlinked ON events (workspace_id, org_id, id) WHERE chain_seq = 0 AND signature IS NOT NULL;
CREATE INDEX events_chain ON events (workspace_id, org_id, chain_seq) WHERE chain_seq > 0;

-- The two ends of each chain, with a keyed hash of them. The one of the empty org and workspace says when
-- chains began.
CREATE TABLE event_chains (
    org_id       TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    since        BIGINT NOT NULL,
    base_seq     BIGINT NOT NULL,
    base_hash    BYTEA, -- NULL: none was removed
    seq          BIGINT NOT NULL,
    hash         BYTEA, -- NULL: there is none yet
    mac          BYTEA NOT NULL,
    PRIMARY KEY (workspace_id, org_id)
);
