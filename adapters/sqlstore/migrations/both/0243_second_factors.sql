-- +goose Up
-- Whether the person showed a second factor at the provider that opened a session, and when the provider authenticated
-- the person. 0: it did not report that, or another source opened the session.
ALTER TABLE sessions ADD COLUMN second_factor BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE sessions ADD COLUMN authenticated_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sign_in_links ADD COLUMN second_factor BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE sign_in_links ADD COLUMN authenticated_at BIGINT NOT NULL DEFAULT 0;
