-- +goose Up
-- What answers the visitors of a template, as JSON; empty: nothing.
ALTER TABLE chat_templates ADD COLUMN reply TEXT NOT NULL DEFAULT '';
ALTER TABLE chat_embed_tokens ADD COLUMN replies_per_day BIGINT NOT NULL DEFAULT 1000;

-- How many messages a token answered on a day: days since 1970 in UTC.
CREATE TABLE chat_embed_days (
    token_id TEXT NOT NULL REFERENCES chat_embed_tokens (id) ON DELETE CASCADE,
    day      BIGINT NOT NULL,
    origin   TEXT NOT NULL,
    replies  BIGINT NOT NULL,
    PRIMARY KEY (token_id, day, origin)
);
