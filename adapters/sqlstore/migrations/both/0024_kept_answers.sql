-- +goose Up
-- The path whose GET has the body of the answer, which is then not kept; '' for none.
ALTER TABLE idempotency_keys ADD COLUMN shows TEXT NOT NULL DEFAULT '';
