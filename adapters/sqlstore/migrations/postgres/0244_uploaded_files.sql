-- +goose Up

-- Uploaded files. Their contents are in parts outside the database, as JSON names them: of the content that data sources
-- read, and of the upload that is in progress. Quotas count the sizes of both.
CREATE TABLE source_files (
    id            TEXT PRIMARY KEY,
    org_id        TEXT NOT NULL,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    owner_id      TEXT NOT NULL,
    name          TEXT NOT NULL,
    size          BIGINT NOT NULL, -- 0 until the first content is complete
    parts         TEXT NOT NULL,
    pending_size  BIGINT NOT NULL, -- 0 if no upload is in progress
    pending_parts TEXT NOT NULL,
    pending_at    BIGINT NOT NULL, -- when the upload received something last; 0 if none is in progress
    sealed_key    BYTEA NOT NULL,
    revision      BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL
);
CREATE INDEX source_files_listed ON source_files (workspace_id, id);
CREATE INDEX source_files_sizes ON source_files (workspace_id, size, pending_size);
CREATE INDEX source_files_pending ON source_files (pending_at) WHERE pending_at > 0;
