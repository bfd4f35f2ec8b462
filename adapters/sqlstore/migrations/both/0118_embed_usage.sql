-- +goose Up
-- How often a token was used on a day from the pages of an origin, besides its replies.
ALTER TABLE chat_embed_days ADD COLUMN sessions BIGINT NOT NULL DEFAULT 0;
ALTER TABLE chat_embed_days ADD COLUMN refusals BIGINT NOT NULL DEFAULT 0;
