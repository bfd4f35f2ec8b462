-- +goose Up
-- The newest change of invisible people that others saw.
CREATE INDEX presences_hidden ON presences (org_id, hidden_seq) WHERE hidden_seq > 0;
