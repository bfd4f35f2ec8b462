-- +goose Up

-- The greeting and the starters in other languages, as a JSON array; '' is none.
ALTER TABLE chat_templates ADD COLUMN translations TEXT NOT NULL DEFAULT '';
ALTER TABLE chat_versions ADD COLUMN translations TEXT NOT NULL DEFAULT '';
