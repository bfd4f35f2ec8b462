-- +goose NO TRANSACTION
-- +goose Up
-- Each filter of a list has an index that ends with the order of the list, so that a page reads about
-- as many rows as it holds. What no index can serve is bounded by scan.go.
--
-- The indexes of events, which may be many, are built CONCURRENTLY: nodes of the version before go on
-- writing. Each statement is a transaction of its own, and can run again: a build that was cut off
-- leaves an index that is not valid.
--
-- PostgreSQL estimates how often a filter applies in all workspaces together. Where it applies in others
-- only, walking the primary key backwards looks short, and reads the whole table. Lists of events are
-- therefore ordered by a collation that the primary key does not have, and that sorts like it.
DROP INDEX CONCURRENTLY IF EXISTS events_listed;
CREATE INDEX CONCURRENTLY events_listed ON events (workspace_id, id COLLATE "POSIX");
DROP INDEX CONCURRENTLY IF EXISTS events_listed_of_subject;
CREATE INDEX CONCURRENTLY events_listed_of_subject ON events (workspace_id, subject, id COLLATE "POSIX");
DROP INDEX CONCURRENTLY IF EXISTS events_listed_of_actor;
CREATE INDEX CONCURRENTLY events_listed_of_actor ON events (workspace_id, actor_id, id COLLATE "POSIX");
DROP INDEX CONCURRENTLY IF EXISTS events_listed_of_type;
CREATE INDEX CONCURRENTLY events_listed_of_type ON events (workspace_id, type, id COLLATE "POSIX");

-- Keys that are not revoked: those of a list, and those that count towards a limit.
DROP INDEX IF EXISTS api_keys_listed;
CREATE INDEX api_keys_listed ON api_keys (workspace_id, id) WHERE revoked_at = 0;
DROP INDEX IF EXISTS api_keys_listed_of_user;
CREATE INDEX api_keys_listed_of_user ON api_keys (workspace_id, user_id, id) WHERE revoked_at = 0;
DROP INDEX IF EXISTS api_keys_live;
CREATE INDEX api_keys_live ON api_keys (workspace_id, expires_at, user_id, service, id) WHERE revoked_at = 0;

DROP INDEX IF EXISTS invitations_listed;
CREATE INDEX invitations_listed ON invitations (workspace_id, id) WHERE open;
DROP INDEX IF EXISTS prompt_versions_frozen;
CREATE INDEX prompt_versions_frozen ON prompt_versions (template_id, number) WHERE frozen;
DROP INDEX IF EXISTS chat_templates_listed_of_prompt;
CREATE INDEX chat_templates_listed_of_prompt ON chat_templates (workspace_id, prompt_id, id) WHERE deleted_at = 0;
DROP INDEX IF EXISTS chat_templates_status;
CREATE INDEX chat_templates_status ON chat_templates (workspace_id, status, id) WHERE deleted_at = 0;
DROP INDEX IF EXISTS payment_invoices_status;
CREATE INDEX payment_invoices_status ON payment_invoices (workspace_id, account, status, created_at, id);
DROP INDEX IF EXISTS payment_events_state;
CREATE INDEX payment_events_state ON payment_events (org_id, state, received_at, account, id);
