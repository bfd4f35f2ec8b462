-- +goose Up
CREATE TABLE jobs (
    id           TEXT COLLATE "C" PRIMARY KEY,
    org_id       TEXT COLLATE "C" NOT NULL REFERENCES orgs (id),
    workspace_id TEXT COLLATE "C" NOT NULL,
    subject      TEXT COLLATE "C" NOT NULL,
    kind         TEXT COLLATE "C" NOT NULL,
    state        TEXT COLLATE "C" NOT NULL,
    due_at       BIGINT NOT NULL, -- of a running one: when its lease has passed, and it may be taken again
    attempt      INTEGER NOT NULL,
    failures     INTEGER NOT NULL,
    failure      TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    started_at   BIGINT NOT NULL,
    ended_at     BIGINT NOT NULL
);
-- At most one queued and one running of each kind and subject.
CREATE UNIQUE INDEX jobs_live ON jobs (workspace_id, subject, kind, state, org_id) WHERE ended_at = 0;
CREATE INDEX jobs_due ON jobs (due_at) WHERE ended_at = 0;
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at > 0;
