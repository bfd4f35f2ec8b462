-- +goose Up
-- URLs that get the events of a workspace. due_at is when a node looks at one next, and leased_until how long no other
-- node does. place is the place in the chain of events up to which there are deliveries.
CREATE TABLE webhooks (
    id             TEXT PRIMARY KEY,
    org_id         TEXT NOT NULL,
    workspace_id   TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    url            TEXT NOT NULL,
    description    TEXT NOT NULL,
    events         TEXT NOT NULL,
    headers        TEXT NOT NULL,
    sealed         BLOB,
    enabled        BOOLEAN NOT NULL,
    reason         TEXT NOT NULL,
    failures       BIGINT NOT NULL,
    failing_since  BIGINT NOT NULL,
    told           BOOLEAN NOT NULL,
    succeeded_at   BIGINT NOT NULL,
    secret         BIGINT NOT NULL,
    previous_until BIGINT NOT NULL,
    place          BIGINT NOT NULL,
    due_at         BIGINT NOT NULL,
    leased_until   BIGINT NOT NULL,
    created_by     TEXT NOT NULL,
    revision       BIGINT NOT NULL,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL
);
CREATE INDEX webhooks_list ON webhooks (workspace_id, id);
CREATE INDEX webhooks_due ON webhooks (due_at) WHERE enabled;

CREATE TABLE webhook_deliveries (
    id           TEXT PRIMARY KEY,
    webhook_id   TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    event_id     TEXT NOT NULL,
    seq          BIGINT NOT NULL,
    type         TEXT NOT NULL,
    subject      TEXT NOT NULL,
    state        TEXT NOT NULL,
    attempts     BIGINT NOT NULL,
    due_at       BIGINT NOT NULL,
    status       BIGINT NOT NULL,
    failure      TEXT NOT NULL,
    answer       TEXT NOT NULL,
    took         BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    attempted_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX webhook_deliveries_event ON webhook_deliveries (webhook_id, event_id);
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_subject ON webhook_deliveries (webhook_id, subject, seq) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_old ON webhook_deliveries (created_at);
