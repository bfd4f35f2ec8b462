-- +goose Up
-- How often a token was disabled. The sessions of earlier generations have ended.
ALTER TABLE chat_embed_tokens ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
