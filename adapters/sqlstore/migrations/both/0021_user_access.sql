-- +goose Up
-- When an operator disabled the account, 0 for never: no credential of the user opens anything from then on.
ALTER TABLE users ADD COLUMN disabled_at BIGINT NOT NULL DEFAULT 0;
