-- +goose Up
-- Who joined a workspace because of the domain of their address. No one joins twice: a member who was removed stays removed.
CREATE TABLE captured_members (
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    user_id      TEXT COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX captured_members_user ON captured_members (user_id);
