-- +goose Up

-- The rows that comparisons no longer found, 16 bytes a row: keyed hashes, after the numbers of two comparisons. Empty if
-- no comparison has written it yet.
ALTER TABLE source_tracked ADD COLUMN removed BLOB NOT NULL DEFAULT X'';
