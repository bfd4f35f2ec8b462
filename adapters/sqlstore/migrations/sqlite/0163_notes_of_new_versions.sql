-- +goose Up

-- Only PostgreSQL has this step: see 0160.
SELECT 1;
