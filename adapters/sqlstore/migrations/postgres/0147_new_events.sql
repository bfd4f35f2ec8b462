-- +goose Up
-- Events that are signed and have no place in their chain yet. Writers add to this table, which has no index. Soon
-- after, events are moved to the table events, which has one for each filter, many at a time.
CREATE TABLE new_events (
    id           TEXT NOT NULL,
    org_id       TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    type         TEXT NOT NULL,
    actor_id     TEXT NOT NULL,
    key_id       TEXT NOT NULL,
    session_id   TEXT NOT NULL,
    subject      TEXT NOT NULL,
    data         TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    request_id   TEXT NOT NULL,
    address      TEXT NOT NULL,
    signature    BYTEA NOT NULL,
    revision     BIGINT NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 20000);
CREATE VIEW recorded_events AS
    SELECT id, org_id, workspace_id, type, actor_id, key_id, session_id, subject, data, created_at, request_id, address,
        signature, revision, chain_seq, chain_hash, redaction FROM events
    UNION ALL
    SELECT id, org_id, workspace_id, type, actor_id, key_id, session_id, subject, data, created_at, request_id, address,
        signature, revision, 0::BIGINT, NULL::BYTEA, NULL::BYTEA FROM new_events;
