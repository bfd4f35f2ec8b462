-- +goose Up
-- What an activation may change for the applications that use a prompt template: none is not checked.
ALTER TABLE prompt_templates ADD COLUMN compatibility TEXT NOT NULL DEFAULT 'none';
