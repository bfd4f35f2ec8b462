-- +goose Up
-- When the user of a session last confirmed it with a passkey; 0 for never.
ALTER TABLE sessions ADD COLUMN confirmed_at BIGINT NOT NULL DEFAULT 0;
