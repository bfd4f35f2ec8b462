-- +goose Up
-- The revision that the subject of an event had after the change. 0: it has none, or a release without this column wrote
-- the event.
ALTER TABLE events ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;
