-- +goose Up
CREATE TABLE chat_templates (
    id               TEXT PRIMARY KEY,
    workspace_id     TEXT NOT NULL REFERENCES workspaces (id),
    owner_id         TEXT NOT NULL REFERENCES users (id),
    name             TEXT NOT NULL,
    description      TEXT NOT NULL,
    avatar_url       TEXT NOT NULL,
    instructions     TEXT NOT NULL,
    prompt_id        TEXT NOT NULL,
    prompt_ref       TEXT NOT NULL,
    agents           TEXT NOT NULL,
    tools            TEXT NOT NULL,
    capabilities     TEXT NOT NULL,
    configs          TEXT NOT NULL,
    model_config     TEXT NOT NULL,
    greeting         TEXT NOT NULL,
    starters         TEXT NOT NULL,
    metadata         TEXT NOT NULL,
    workflows        TEXT NOT NULL,
    status           TEXT NOT NULL,
    visibility       TEXT NOT NULL,
    search           TEXT NOT NULL,
    revision         BIGINT NOT NULL,
    created_at       BIGINT NOT NULL,
    created_by       TEXT NOT NULL,
    updated_at       BIGINT NOT NULL,
    deleted_at       BIGINT NOT NULL
);
CREATE INDEX chat_templates_workspace ON chat_templates (workspace_id, id) WHERE deleted_at = 0;
CREATE INDEX chat_templates_owner ON chat_templates (workspace_id, owner_id, id) WHERE deleted_at = 0;
CREATE INDEX chat_templates_visible ON chat_templates (workspace_id, visibility, id) WHERE deleted_at = 0;
CREATE INDEX chat_templates_prompt ON chat_templates (prompt_id) WHERE deleted_at = 0 AND prompt_id <> '';

-- The user of an invited member is reserved, and not there yet.
CREATE TABLE chat_members (
    template_id  TEXT NOT NULL REFERENCES chat_templates (id) ON DELETE CASCADE,
    workspace_id TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    email        TEXT NOT NULL,
    role         INTEGER NOT NULL,
    invited      BOOLEAN NOT NULL,
    invited_by   TEXT NOT NULL,
    revision     BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (template_id, user_id)
);
CREATE INDEX chat_members_user ON chat_members (workspace_id, user_id, template_id);

-- Made for something within the workspace: it ends when that is taken away.
ALTER TABLE invitations ADD COLUMN guest BOOLEAN NOT NULL DEFAULT FALSE;
