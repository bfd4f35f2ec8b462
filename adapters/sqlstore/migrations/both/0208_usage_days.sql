-- +goose Up
-- What applications report that workspaces have used, summed per feature and day in UTC: days since 1970.
CREATE TABLE feature_usage_days (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    feature      TEXT NOT NULL,
    day          BIGINT NOT NULL,
    used         BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, feature, day)
);
CREATE INDEX feature_usage_days_updated ON feature_usage_days (updated_at);
