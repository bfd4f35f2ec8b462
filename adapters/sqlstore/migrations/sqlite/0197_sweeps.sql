-- +goose Up
-- What the sweep looks for each hour has an index.
CREATE INDEX workspaces_deleted ON workspaces (deleted_at) WHERE deleted_at > 0;
CREATE INDEX prompt_templates_deleted ON prompt_templates (deleted_at) WHERE deleted_at > 0;
CREATE INDEX chat_templates_deleted ON chat_templates (deleted_at) WHERE deleted_at > 0;
CREATE INDEX probe_attempts_last ON probe_attempts (last_at);

-- When a node last began to remove old rows, so that the others need not do so.
ALTER TABLE keyring ADD COLUMN swept_at BIGINT NOT NULL DEFAULT 0;
