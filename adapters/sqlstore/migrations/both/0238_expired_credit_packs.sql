-- +goose Up
-- Whether the event about the expiry of what was left was recorded, if anything was left.
ALTER TABLE credit_packs ADD COLUMN expired BOOLEAN NOT NULL DEFAULT FALSE;
