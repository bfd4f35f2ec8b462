-- +goose Up

-- Keys that wait while the account of their creator is disabled by a directory. Nodes of the previous version let them
-- work until they are replaced.
ALTER TABLE api_keys ADD COLUMN suspended_at BIGINT NOT NULL DEFAULT 0;
