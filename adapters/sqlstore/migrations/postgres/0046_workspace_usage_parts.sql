-- +goose Up
-- What writers added to workspace_usage, in several rows for each workspace. Each connection adds to one of them, so that
-- writers of one workspace do not wait for each other. The usage is the sum of all these rows and of workspace_usage,
-- from which deletions are subtracted.
CREATE TABLE workspace_usage_parts (
    workspace_id     TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    part             BIGINT NOT NULL,
    prompt_templates BIGINT NOT NULL,
    prompt_versions  BIGINT NOT NULL,
    chat_templates   BIGINT NOT NULL,
    storage_bytes    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, part)
) WITH (fillfactor = 50);

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_usage(ws TEXT, prompts BIGINT, versions BIGINT, chats BIGINT, bytes BIGINT) RETURNS VOID
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO workspace_usage_parts AS p (workspace_id, part, prompt_templates, prompt_versions, chat_templates, storage_bytes)
    VALUES (ws, pg_backend_pid() % 32, prompts, versions, chats, bytes)
    ON CONFLICT (workspace_id, part) DO UPDATE SET prompt_templates = p.prompt_templates + prompts,
        prompt_versions = p.prompt_versions + versions, chat_templates = p.chat_templates + chats,
        storage_bytes = p.storage_bytes + bytes;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION usage_prompt_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_usage(NEW.workspace_id, (NEW.deleted_at = 0)::INT, 0, 0,
        1024 + octet_length(NEW.name) + octet_length(NEW.description) + octet_length(NEW.tags) +
        octet_length(NEW.metadata));
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION usage_prompt_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_usage(NEW.workspace_id, (NEW.deleted_at = 0)::INT - (OLD.deleted_at = 0)::INT, 0, 0,
        (1024 + octet_length(NEW.name) + octet_length(NEW.description) + octet_length(NEW.tags) +
        octet_length(NEW.metadata)) - (
        1024 + octet_length(OLD.name) + octet_length(OLD.description) + octet_length(OLD.tags) +
        octet_length(OLD.metadata)));
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION usage_chat_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_usage(NEW.workspace_id, 0, 0, (NEW.deleted_at = 0)::INT,
        1024 + octet_length(NEW.name) + octet_length(NEW.description) + octet_length(NEW.avatar_url) +
        octet_length(NEW.instructions) + octet_length(NEW.agents) + octet_length(NEW.tools) +
        octet_length(NEW.capabilities) + octet_length(NEW.configs) + octet_length(NEW.model_config) +
        octet_length(NEW.greeting) + octet_length(NEW.starters) + octet_length(NEW.metadata) +
        octet_length(NEW.workflows));
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION usage_chat_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_usage(NEW.workspace_id, 0, 0, (NEW.deleted_at = 0)::INT - (OLD.deleted_at = 0)::INT,
        (1024 + octet_length(NEW.name) + octet_length(NEW.description) + octet_length(NEW.avatar_url) +
        octet_length(NEW.instructions) + octet_length(NEW.agents) + octet_length(NEW.tools) +
        octet_length(NEW.capabilities) + octet_length(NEW.configs) + octet_length(NEW.model_config) +
        octet_length(NEW.greeting) + octet_length(NEW.starters) + octet_length(NEW.metadata) +
        octet_length(NEW.workflows)) - (
        1024 + octet_length(OLD.name) + octet_length(OLD.description) + octet_length(OLD.avatar_url) +
        octet_length(OLD.instructions) + octet_length(OLD.agents) + octet_length(OLD.tools) +
        octet_length(OLD.capabilities) + octet_length(OLD.configs) + octet_length(OLD.model_config) +
        octet_length(OLD.greeting) + octet_length(OLD.starters) + octet_length(OLD.metadata) +
        octet_length(OLD.workflows)));
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION usage_version_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_usage((SELECT workspace_id FROM prompt_templates WHERE id = NEW.template_id), 0, 1, 0,
        1024 + octet_length(NEW.text) + octet_length(NEW.messages) + octet_length(NEW.variables) +
        octet_length(NEW.model_config) + octet_length(NEW.tools) + octet_length(NEW.response_format) +
        octet_length(NEW.commit_message));
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION usage_version_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_usage((SELECT workspace_id FROM prompt_templates WHERE id = NEW.template_id), 0, 0, 0,
        (1024 + octet_length(NEW.text) + octet_length(NEW.messages) + octet_length(NEW.variables) +
        octet_length(NEW.model_config) + octet_length(NEW.tools) + octet_length(NEW.response_format) +
        octet_length(NEW.commit_message)) - (
        1024 + octet_length(OLD.text) + octet_length(OLD.messages) + octet_length(OLD.variables) +
        octet_length(OLD.model_config) + octet_length(OLD.tools) + octet_length(OLD.response_format) +
        octet_length(OLD.commit_message)));
    RETURN NULL;
END $$;
-- +goose StatementEnd
