-- +goose Up
-- Groups of people of a workspace. A group has a row in users, so that shares can refer to it as to a user. role is the
-- least role that its people have in the workspace, 0 for none.
CREATE TABLE user_groups (
    id           TEXT COLLATE "C" PRIMARY KEY REFERENCES users (id),
    org_id       TEXT COLLATE "C" NOT NULL REFERENCES orgs (id),
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    name_key     TEXT NOT NULL,
    role         INTEGER NOT NULL,
    external_id  TEXT NOT NULL,
    created_by   TEXT COLLATE "C" NOT NULL,
    revision     BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE UNIQUE INDEX user_groups_name ON user_groups (workspace_id, name_key);
CREATE INDEX user_groups_list ON user_groups (workspace_id, id);

-- Who leaves the workspace, by whichever version, leaves its groups.
CREATE TABLE group_people (
    group_id     TEXT COLLATE "C" NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    workspace_id TEXT COLLATE "C" NOT NULL,
    user_id      TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (group_id, user_id),
    FOREIGN KEY (workspace_id, user_id) REFERENCES memberships (workspace_id, user_id) ON DELETE CASCADE
);
CREATE INDEX group_people_user ON group_people (workspace_id, user_id, group_id);

-- Whether the member is in a group. Reads of others skip the look-up of groups.
ALTER TABLE memberships ADD COLUMN grouped BOOLEAN NOT NULL DEFAULT FALSE;

-- The groups that the person joins on accepting the invitation: their ids, separated by spaces.
ALTER TABLE invitations ADD COLUMN group_ids TEXT NOT NULL DEFAULT '';
