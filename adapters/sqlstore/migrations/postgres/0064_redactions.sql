-- +goose Up
-- A keyed hash of an event that an erasure changed, and of its first signature; NULL: it was not changed. signature
-- and chain_hash stay as they were.
ALTER TABLE events ADD COLUMN redaction BYTEA;
