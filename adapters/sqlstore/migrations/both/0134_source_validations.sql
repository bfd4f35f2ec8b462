-- +goose Up

-- The last check of all rows of a data source. fields is JSON with counts and row numbers, and holds no value.
CREATE TABLE source_validations (
    source_id    TEXT PRIMARY KEY REFERENCES sources (id) ON DELETE CASCADE,
    state        TEXT NOT NULL,
    of_revision  BIGINT NOT NULL,
    requested_at BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    started_at   BIGINT NOT NULL,
    ended_at     BIGINT NOT NULL,
    rows_read    BIGINT NOT NULL,
    rows_failing BIGINT NOT NULL,
    complete     BOOLEAN NOT NULL,
    failure      TEXT NOT NULL,
    fields       TEXT NOT NULL
);
