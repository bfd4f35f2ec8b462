-- +goose Up

-- The field by which rows are recognised when they are compared; '' if they are not.
ALTER TABLE sources ADD COLUMN change_key TEXT NOT NULL DEFAULT '';

-- What is kept of the rows of a data source: keyed hashes, 24 bytes a row, in the order of their keys.
CREATE TABLE source_tracked (
    source_id    TEXT PRIMARY KEY REFERENCES sources (id) ON DELETE CASCADE,
    mapped       TEXT NOT NULL,
    number       BIGINT NOT NULL,
    first_number BIGINT NOT NULL,
    hashes       BLOB NOT NULL
);

-- What comparisons found.
CREATE TABLE source_changes (
    source_id TEXT NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    number    BIGINT NOT NULL,
    at        BIGINT NOT NULL,
    first     BOOLEAN NOT NULL,
    row_count BIGINT NOT NULL,
    added     BIGINT NOT NULL,
    changed   BIGINT NOT NULL,
    removed   BIGINT NOT NULL,
    PRIMARY KEY (source_id, number)
);
