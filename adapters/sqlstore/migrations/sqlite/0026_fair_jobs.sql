-- +goose Up
-- Whose share of the workers a job uses: its workspace's, or its organisation's if it has no workspace.
ALTER TABLE jobs ADD COLUMN tenant TEXT GENERATED ALWAYS AS (CASE workspace_id WHEN '' THEN org_id ELSE workspace_id END) VIRTUAL;
CREATE INDEX jobs_waiting ON jobs (due_at, tenant, kind) WHERE ended_at = 0;
CREATE INDEX jobs_turn ON jobs (tenant, due_at, kind) WHERE ended_at = 0;
CREATE INDEX jobs_running ON jobs (tenant, due_at) WHERE ended_at = 0 AND state = 'running';
CREATE INDEX jobs_busy ON jobs (tenant, due_at) WHERE ended_at = 0 AND failure = 'busy';
CREATE INDEX jobs_started ON jobs (tenant, started_at);
