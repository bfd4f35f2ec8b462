-- +goose Up
-- Roles on all prompt templates in a folder and its subfolders. user_id is a user or a group. memberships.grouped tells
-- whether a member has any, or is in a group.
CREATE TABLE prompt_folder_shares (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    folder       TEXT NOT NULL,
    folder_key   TEXT NOT NULL,
    user_id      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    access       INTEGER NOT NULL,
    expires_at   BIGINT NOT NULL,
    granted_by   TEXT NOT NULL,
    revision     BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE UNIQUE INDEX prompt_folder_shares_user ON prompt_folder_shares (workspace_id, user_id, folder_key);
