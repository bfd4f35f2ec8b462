-- +goose Up

-- Whether a token serves only signed visitors, and when it last opened a session for one (to the hour).
ALTER TABLE chat_embed_tokens ADD COLUMN require_signed BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE chat_embed_tokens ADD COLUMN last_signed_at BIGINT NOT NULL DEFAULT 0;
