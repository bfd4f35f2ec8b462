-- +goose Up
-- The limits of an API key: names of scopes, and networks in CIDR notation, each sorted and separated by spaces. Empty
-- for no limit. A node of a version before this migration does not check them.
ALTER TABLE api_keys ADD COLUMN scopes TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN networks TEXT NOT NULL DEFAULT '';

-- The address of the client at last_used_at; empty if it is not known.
ALTER TABLE api_keys ADD COLUMN last_used_by TEXT NOT NULL DEFAULT '';
