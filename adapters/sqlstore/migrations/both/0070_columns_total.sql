-- +goose Up

-- How many columns the table of a source had when it was mapped. 0 in what the version before wrote: as many as it has
-- in columns.
ALTER TABLE sources ADD COLUMN columns_total BIGINT NOT NULL DEFAULT 0;
