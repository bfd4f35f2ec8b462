-- +goose Up
-- Links that open one session of a user; a row is removed when the link is used.
CREATE TABLE sign_in_links (
    hash       BYTEA PRIMARY KEY,
    org_id     TEXT COLLATE "C" NOT NULL REFERENCES orgs (id),
    user_id    TEXT COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sign_in_links_expiry ON sign_in_links (expires_at);
