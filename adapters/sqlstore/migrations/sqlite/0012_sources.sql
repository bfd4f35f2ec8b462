-- +goose Up
CREATE TABLE sources (
    id                TEXT PRIMARY KEY,
    org_id            TEXT NOT NULL,
    workspace_id      TEXT NOT NULL REFERENCES workspaces (id),
    type              TEXT NOT NULL,
    name              TEXT NOT NULL,
    url               TEXT NOT NULL,
    tab               TEXT NOT NULL,
    header_row        INTEGER NOT NULL,
    connection_id     TEXT NOT NULL, -- empty for a sheet that nobody's account reads
    table_schema      TEXT NOT NULL,
    table_name        TEXT NOT NULL,
    place             TEXT NOT NULL, -- what source.Location.Key says of the columns above
    columns           TEXT NOT NULL,
    mapping           TEXT NOT NULL,
    paused            TEXT NOT NULL,
    failed            TEXT NOT NULL,
    failed_at         BIGINT NOT NULL,
    failure_transient BOOLEAN NOT NULL,
    failure_hint      TEXT NOT NULL,
    failures          INTEGER NOT NULL,
    drift_level       TEXT NOT NULL,
    drift_columns     TEXT NOT NULL,
    drift_seen        INTEGER NOT NULL,
    row_estimate      BIGINT NOT NULL,
    last_refreshed_at BIGINT NOT NULL,
    next_refresh_at   BIGINT NOT NULL,
    owner_id          TEXT NOT NULL,
    revision          BIGINT NOT NULL,
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL
);
CREATE UNIQUE INDEX sources_place ON sources (workspace_id, type, place);
CREATE INDEX sources_listed ON sources (workspace_id, id);
CREATE INDEX sources_through ON sources (workspace_id, connection_id, id) WHERE connection_id <> '';

-- What a workspace chose before: the fields of a type by the names of columns.
CREATE TABLE source_memory (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    type         TEXT NOT NULL,
    column_name  TEXT NOT NULL, -- as source.Normalise has it
    field        TEXT NOT NULL,
    taught_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, type, column_name)
);

CREATE INDEX jobs_history ON jobs (workspace_id, subject, id);
