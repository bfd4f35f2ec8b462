-- +goose Up
-- What the activation of a version waits for, and the requests that wait.
ALTER TABLE prompt_templates ADD COLUMN approvals INTEGER NOT NULL DEFAULT 0;
ALTER TABLE prompt_templates ADD COLUMN required_checks TEXT NOT NULL DEFAULT '';
ALTER TABLE prompt_templates ADD COLUMN open_requests INTEGER NOT NULL DEFAULT 0;
ALTER TABLE prompt_activations ADD COLUMN request_id TEXT NOT NULL DEFAULT '';

CREATE TABLE prompt_requests (
    id              TEXT PRIMARY KEY,
    template_id     TEXT NOT NULL REFERENCES prompt_templates (id) ON DELETE CASCADE,
    workspace_id    TEXT NOT NULL,
    version_id      TEXT NOT NULL,
    version_number  INTEGER NOT NULL,
    content_hash    TEXT NOT NULL,
    base_version_id TEXT NOT NULL,
    base_number     INTEGER NOT NULL,
    requested_by    TEXT NOT NULL,
    key_id          TEXT NOT NULL,
    ceiling         INTEGER NOT NULL,
    reason          TEXT NOT NULL,
    acknowledged    BOOLEAN NOT NULL,
    bypass_checks   BOOLEAN NOT NULL,
    not_before      INTEGER NOT NULL,
    state           TEXT NOT NULL,
    cause           TEXT NOT NULL,
    ended_at        INTEGER NOT NULL,
    ended_by        TEXT NOT NULL,
    approvals       INTEGER NOT NULL,
    missing_checks  TEXT NOT NULL,
    decisions       TEXT NOT NULL,
    revision        INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL
);
CREATE INDEX prompt_requests_template ON prompt_requests (template_id, id);
CREATE INDEX prompt_requests_waiting ON prompt_requests (template_id) WHERE state = 'waiting';

CREATE TABLE prompt_checks (
    version_id   TEXT NOT NULL REFERENCES prompt_versions (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    conclusion   TEXT NOT NULL,
    url          TEXT NOT NULL,
    summary      TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    reported_by  TEXT NOT NULL,
    reported_at  INTEGER NOT NULL,
    PRIMARY KEY (version_id, name)
);
