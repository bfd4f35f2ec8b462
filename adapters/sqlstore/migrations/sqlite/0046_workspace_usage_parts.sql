-- +goose Up
-- SQLite has one writer at a time, so all is counted in workspace_usage. This table stays empty; it exists for the
-- statements that both engines share.
CREATE TABLE workspace_usage_parts (
    workspace_id     TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    part             BIGINT NOT NULL,
    prompt_templates BIGINT NOT NULL,
    prompt_versions  BIGINT NOT NULL,
    chat_templates   BIGINT NOT NULL,
    storage_bytes    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, part)
);
