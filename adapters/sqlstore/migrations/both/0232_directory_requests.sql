-- +goose Up
-- What directories sent, without values. attributes are names with spaces between them. Of each token and outcome the
-- newest are kept.
CREATE TABLE scim_requests (
    id         TEXT PRIMARY KEY,
    org_id     TEXT NOT NULL REFERENCES orgs (id),
    request_id TEXT NOT NULL,
    token      INTEGER NOT NULL,
    outcome    TEXT NOT NULL,
    method     TEXT NOT NULL,
    resource   TEXT NOT NULL,
    subject    TEXT NOT NULL,
    attributes TEXT NOT NULL,
    status     INTEGER NOT NULL,
    code       TEXT NOT NULL,
    detail     TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX scim_requests_list ON scim_requests (org_id, id);
CREATE INDEX scim_requests_outcome ON scim_requests (org_id, token, outcome, id);
CREATE INDEX scim_requests_subject ON scim_requests (org_id, subject);
CREATE INDEX scim_requests_age ON scim_requests (created_at);
