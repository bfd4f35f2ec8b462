-- +goose Up

-- Who kept a service key when the user who was responsible for it lost the role.
ALTER TABLE api_keys ADD COLUMN kept_by TEXT NOT NULL DEFAULT '';
