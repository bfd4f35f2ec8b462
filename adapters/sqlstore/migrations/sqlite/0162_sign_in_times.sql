-- +goose Up

-- Only PostgreSQL has this step: SQLite has no triggers that note changes.
SELECT 1;
