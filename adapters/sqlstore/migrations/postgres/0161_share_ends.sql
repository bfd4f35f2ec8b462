-- +goose Up

-- Only SQLite has this step: PostgreSQL has these indexes since 0160.
SELECT 1;
