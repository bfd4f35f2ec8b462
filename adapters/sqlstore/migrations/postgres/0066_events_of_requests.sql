-- +goose NO TRANSACTION
-- +goose Up
-- Built CONCURRENTLY, in statements that can run again, as in 0023.
DROP INDEX CONCURRENTLY IF EXISTS events_listed_of_request;
CREATE INDEX CONCURRENTLY events_listed_of_request ON events (workspace_id, request_id, id COLLATE "POSIX");
