-- +goose Up
-- Each filter of a list has an index that ends with the order of the list, so that a page reads about
-- as many rows as it holds. What no index can serve is bounded by scan.go.
CREATE INDEX events_type ON events (workspace_id, type, id);
CREATE INDEX events_actor ON events (workspace_id, actor_id, id);

-- Keys that are not revoked: those of a list, and those that count towards a limit.
CREATE INDEX api_keys_listed ON api_keys (workspace_id, id) WHERE revoked_at = 0;
CREATE INDEX api_keys_listed_of_user ON api_keys (workspace_id, user_id, id) WHERE revoked_at = 0;
CREATE INDEX api_keys_live ON api_keys (workspace_id, expires_at, user_id, service, id) WHERE revoked_at = 0;

CREATE INDEX invitations_listed ON invitations (workspace_id, id) WHERE open;
CREATE INDEX prompt_versions_frozen ON prompt_versions (template_id, number) WHERE frozen;
CREATE INDEX chat_templates_listed_of_prompt ON chat_templates (workspace_id, prompt_id, id) WHERE deleted_at = 0;
CREATE INDEX chat_templates_status ON chat_templates (workspace_id, status, id) WHERE deleted_at = 0;
CREATE INDEX payment_invoices_status ON payment_invoices (workspace_id, account, status, created_at, id);
CREATE INDEX payment_events_state ON payment_events (org_id, state, received_at, account, id);
