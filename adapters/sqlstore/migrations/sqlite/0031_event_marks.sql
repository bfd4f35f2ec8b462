-- +goose Up
-- Which notes are in the audit trail, and until when no equal one is written: a hash of what makes notes
-- equal. Rows are removed when that time has passed.
CREATE TABLE event_marks (
    mark  BLOB PRIMARY KEY,
    until BIGINT NOT NULL
);
CREATE INDEX event_marks_until ON event_marks (until);
