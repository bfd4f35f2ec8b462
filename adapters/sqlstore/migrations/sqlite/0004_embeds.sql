-- +goose Up
CREATE TABLE chat_embed_tokens (
    id               TEXT PRIMARY KEY,
    org_id           TEXT NOT NULL,
    workspace_id     TEXT NOT NULL REFERENCES workspaces (id),
    template_id      TEXT NOT NULL REFERENCES chat_templates (id) ON DELETE CASCADE,
    name             TEXT NOT NULL,
    origins          TEXT NOT NULL,
    allow_no_origin  BOOLEAN NOT NULL,
    enabled          BOOLEAN NOT NULL,
    expires_at       BIGINT NOT NULL,
    session_seconds  INTEGER NOT NULL,
    per_minute       INTEGER NOT NULL,
    hash             BLOB NOT NULL,
    hint             TEXT NOT NULL,
    previous_hash    BLOB NOT NULL,
    previous_until   BIGINT NOT NULL,
    last_used_at     BIGINT NOT NULL,
    last_used_origin TEXT NOT NULL,
    created_by       TEXT NOT NULL,
    revision         BIGINT NOT NULL,
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL
);
CREATE UNIQUE INDEX chat_embed_tokens_hash ON chat_embed_tokens (hash);
CREATE INDEX chat_embed_tokens_previous ON chat_embed_tokens (previous_hash) WHERE previous_until <> 0;
CREATE INDEX chat_embed_tokens_template ON chat_embed_tokens (template_id, id);

-- The entries of origins once more, since a preflight names an origin and no token.
CREATE TABLE chat_embed_origins (
    org_id   TEXT NOT NULL,
    pattern  TEXT NOT NULL,
    token_id TEXT NOT NULL REFERENCES chat_embed_tokens (id) ON DELETE CASCADE,
    PRIMARY KEY (org_id, pattern, token_id)
);
CREATE INDEX chat_embed_origins_token ON chat_embed_origins (token_id);
