-- +goose Up

-- How many replies to visitors have failed one after another, why the latest one did, and since when the template counts
-- as failing; 0: it does not.
ALTER TABLE chat_templates ADD COLUMN reply_failures BIGINT NOT NULL DEFAULT 0;
ALTER TABLE chat_templates ADD COLUMN reply_failure TEXT NOT NULL DEFAULT '';
ALTER TABLE chat_templates ADD COLUMN reply_failing_since BIGINT NOT NULL DEFAULT 0;

-- How many messages got no whole reply, by day (since 1970, in UTC) and reason.
CREATE TABLE chat_embed_failures (
    token_id TEXT NOT NULL REFERENCES chat_embed_tokens (id) ON DELETE CASCADE,
    day      BIGINT NOT NULL,
    code     TEXT NOT NULL,
    failures BIGINT NOT NULL,
    PRIMARY KEY (token_id, day, code)
);

-- Chats by the connection that they reply through.
CREATE INDEX chat_templates_connection ON chat_templates (workspace_id, (json_extract(NULLIF(reply, ''), '$.connection_id'))) WHERE reply <> '';
CREATE INDEX chat_versions_connection ON chat_versions (workspace_id, (json_extract(NULLIF(reply, ''), '$.connection_id'))) WHERE reply <> '';
