-- +goose Up
-- The passkey that opened a session, with which it ends. Empty: another source did, or a release that did not note it.
ALTER TABLE sessions ADD COLUMN passkey_id TEXT NOT NULL DEFAULT '';
