-- +goose Up
-- What applications report that workspaces have used, summed per feature and period.
CREATE TABLE feature_usage (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    feature      TEXT NOT NULL,
    period_start BIGINT NOT NULL,
    used         BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, period_start, feature)
);
CREATE INDEX feature_usage_updated ON feature_usage (updated_at);

-- The reports that have a key of their own, so that they count once.
CREATE TABLE usage_reports (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    report_key   TEXT NOT NULL,
    feature      TEXT NOT NULL,
    quantity     BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, report_key)
);
CREATE INDEX usage_reports_created ON usage_reports (created_at);
