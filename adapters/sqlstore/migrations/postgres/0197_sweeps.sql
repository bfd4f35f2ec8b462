-- +goose NO TRANSACTION
-- +goose Up
-- What the sweep looks for each hour has an index. They are built CONCURRENTLY, in statements that can run again, as in
-- 0023.
DROP INDEX CONCURRENTLY IF EXISTS workspaces_deleted;
CREATE INDEX CONCURRENTLY workspaces_deleted ON workspaces (deleted_at) WHERE deleted_at > 0;
DROP INDEX CONCURRENTLY IF EXISTS prompt_templates_deleted;
CREATE INDEX CONCURRENTLY prompt_templates_deleted ON prompt_templates (deleted_at) WHERE deleted_at > 0;
DROP INDEX CONCURRENTLY IF EXISTS chat_templates_deleted;
CREATE INDEX CONCURRENTLY chat_templates_deleted ON chat_templates (deleted_at) WHERE deleted_at > 0;
DROP INDEX CONCURRENTLY IF EXISTS probe_attempts_last;
CREATE INDEX CONCURRENTLY probe_attempts_last ON probe_attempts (last_at);

-- When a node last began to remove old rows, so that the others need not do so.
ALTER TABLE keyring ADD COLUMN IF NOT EXISTS swept_at BIGINT NOT NULL DEFAULT 0;
