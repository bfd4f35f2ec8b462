-- +goose Up
-- How many requests were made with API keys, by day: the number of days since 1970.
CREATE TABLE key_requests (
    key_id   TEXT COLLATE "C" NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    day      INTEGER NOT NULL,
    requests BIGINT NOT NULL,
    PRIMARY KEY (key_id, day)
);
CREATE INDEX key_requests_day ON key_requests (day);
