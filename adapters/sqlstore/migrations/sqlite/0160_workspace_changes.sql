-- +goose Up

-- Only PostgreSQL has this step: on SQLite, no other node changes what a node has cached.
SELECT 1;
