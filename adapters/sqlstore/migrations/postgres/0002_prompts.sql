-- +goose Up
CREATE TABLE prompt_templates (
    id                   TEXT COLLATE "C" PRIMARY KEY,
    workspace_id         TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
    owner_id             TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    name                 TEXT NOT NULL,
    name_key             TEXT COLLATE "C" NOT NULL,
    type                 TEXT NOT NULL,
    description          TEXT NOT NULL,
    tags                 TEXT NOT NULL,
    metadata             TEXT NOT NULL,
    visibility           TEXT NOT NULL,
    protected            BOOLEAN NOT NULL,
    search               TEXT NOT NULL,
    active_version_id    TEXT COLLATE "C" NOT NULL,
    active_number        INTEGER NOT NULL,
    activated_at         BIGINT NOT NULL,
    activated_by         TEXT COLLATE "C" NOT NULL,
    last_number          INTEGER NOT NULL,
    version_count        INTEGER NOT NULL DEFAULT 0,
    latest_version_id    TEXT COLLATE "C" NOT NULL DEFAULT '',
    latest_number        INTEGER NOT NULL DEFAULT 0,
    frozen_count         INTEGER NOT NULL DEFAULT 0,
    latest_frozen_id     TEXT COLLATE "C" NOT NULL DEFAULT '',
    latest_frozen_number INTEGER NOT NULL DEFAULT 0,
    revision             BIGINT NOT NULL,
    created_at           BIGINT NOT NULL,
    created_by           TEXT COLLATE "C" NOT NULL,
    updated_at           BIGINT NOT NULL,
    deleted_at           BIGINT NOT NULL
);
CREATE UNIQUE INDEX prompt_templates_name ON prompt_templates (workspace_id, name_key) WHERE deleted_at = 0;
CREATE INDEX prompt_templates_workspace ON prompt_templates (workspace_id, id) WHERE deleted_at = 0;
CREATE INDEX prompt_templates_owner ON prompt_templates (workspace_id, owner_id, id) WHERE deleted_at = 0;
CREATE INDEX prompt_templates_visible ON prompt_templates (workspace_id, visibility, id) WHERE deleted_at = 0;

CREATE TABLE prompt_shares (
    template_id  TEXT COLLATE "C" NOT NULL REFERENCES prompt_templates (id) ON DELETE CASCADE,
    workspace_id TEXT COLLATE "C" NOT NULL,
    user_id      TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    access       INTEGER NOT NULL,
    expires_at   BIGINT NOT NULL,
    granted_by   TEXT COLLATE "C" NOT NULL,
    revision     BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (template_id, user_id)
);
CREATE INDEX prompt_shares_user ON prompt_shares (workspace_id, user_id, template_id);

CREATE TABLE prompt_versions (
    id                 TEXT COLLATE "C" PRIMARY KEY,
    template_id        TEXT COLLATE "C" NOT NULL REFERENCES prompt_templates (id) ON DELETE CASCADE,
    number             INTEGER NOT NULL,
    text               TEXT NOT NULL,
    messages           TEXT NOT NULL,
    format             TEXT NOT NULL,
    variables          TEXT NOT NULL,
    model_config       TEXT NOT NULL,
    tools              TEXT NOT NULL,
    response_format    TEXT NOT NULL,
    content_hash       TEXT NOT NULL,
    commit_message     TEXT NOT NULL,
    frozen             BOOLEAN NOT NULL,
    first_activated_at BIGINT NOT NULL,
    revision           BIGINT NOT NULL,
    created_by         TEXT COLLATE "C" NOT NULL,
    created_at         BIGINT NOT NULL,
    updated_at         BIGINT NOT NULL
);
CREATE UNIQUE INDEX prompt_versions_number ON prompt_versions (template_id, number);

CREATE TABLE prompt_labels (
    template_id TEXT COLLATE "C" NOT NULL REFERENCES prompt_templates (id) ON DELETE CASCADE,
    label       TEXT COLLATE "C" NOT NULL,
    version_id  TEXT COLLATE "C" NOT NULL REFERENCES prompt_versions (id) ON DELETE CASCADE,
    PRIMARY KEY (template_id, label)
);
CREATE INDEX prompt_labels_version ON prompt_labels (version_id);

-- The ledger outlives the versions that it names.
CREATE TABLE prompt_activations (
    template_id     TEXT COLLATE "C" NOT NULL REFERENCES prompt_templates (id) ON DELETE CASCADE,
    number          INTEGER NOT NULL,
    from_version_id TEXT COLLATE "C" NOT NULL,
    to_version_id   TEXT COLLATE "C" NOT NULL,
    activated_by    TEXT COLLATE "C" NOT NULL,
    activated_at    BIGINT NOT NULL,
    reason          TEXT NOT NULL,
    PRIMARY KEY (template_id, number)
);
