-- +goose Up
CREATE INDEX events_request ON events (workspace_id, request_id, id);
