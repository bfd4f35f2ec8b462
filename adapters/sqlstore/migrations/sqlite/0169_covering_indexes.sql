-- +goose Up

-- They now have every column that the look-up of an API key reads, so that it does not read the row as well.
DROP INDEX IF EXISTS memberships_user;
CREATE INDEX memberships_user ON memberships (user_id, workspace_id, role, by_hand, grouped);
DROP INDEX IF EXISTS prompt_labels_version;
CREATE INDEX prompt_labels_version ON prompt_labels (version_id, label);
