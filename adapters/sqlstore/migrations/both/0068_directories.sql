-- +goose Up
-- People and groups of the directories that manage orgs by SCIM (RFC 7643). rules is a digest of the claim rules by
-- which the account has its roles, unsettled how many changes of groups are not in them.
CREATE TABLE scim_users (
    user_id     TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    org_id      TEXT NOT NULL REFERENCES orgs (id),
    subject     TEXT NOT NULL,
    user_name   TEXT NOT NULL,
    name_key    TEXT NOT NULL,
    external_id TEXT NOT NULL,
    formatted   TEXT NOT NULL,
    given_name  TEXT NOT NULL,
    family_name TEXT NOT NULL,
    display     TEXT NOT NULL,
    email       TEXT NOT NULL,
    active      BOOLEAN NOT NULL,
    rules       TEXT NOT NULL,
    unsettled   BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    removed_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX scim_users_name ON scim_users (org_id, name_key);
CREATE INDEX scim_users_list ON scim_users (org_id, user_id);
CREATE INDEX scim_users_external ON scim_users (org_id, external_id);
CREATE INDEX scim_users_email ON scim_users (org_id, email);

CREATE TABLE scim_groups (
    id          TEXT PRIMARY KEY,
    org_id      TEXT NOT NULL REFERENCES orgs (id),
    name        TEXT NOT NULL,
    name_key    TEXT NOT NULL,
    external_id TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX scim_groups_name ON scim_groups (org_id, name_key);
CREATE INDEX scim_groups_list ON scim_groups (org_id, id);

CREATE TABLE scim_members (
    group_id TEXT NOT NULL REFERENCES scim_groups (id) ON DELETE CASCADE,
    user_id  TEXT NOT NULL REFERENCES scim_users (user_id) ON DELETE CASCADE,
    PRIMARY KEY (group_id, user_id)
);
CREATE INDEX scim_members_user ON scim_members (user_id, group_id);
