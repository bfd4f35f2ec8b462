-- +goose Up
-- What chat templates were when they were published. The columns have the same meaning as those of chat_templates.
CREATE TABLE chat_versions (
    id            TEXT PRIMARY KEY,
    template_id   TEXT NOT NULL REFERENCES chat_templates (id) ON DELETE CASCADE,
    workspace_id  TEXT NOT NULL,
    number        BIGINT NOT NULL,
    name          TEXT NOT NULL,
    description   TEXT NOT NULL,
    avatar_url    TEXT NOT NULL,
    instructions  TEXT NOT NULL,
    prompt_id     TEXT NOT NULL,
    prompt_ref    TEXT NOT NULL,
    agents        TEXT NOT NULL,
    tools         TEXT NOT NULL,
    capabilities  TEXT NOT NULL,
    model_config  TEXT NOT NULL,
    starters      TEXT NOT NULL,
    reply         TEXT NOT NULL,
    configs       TEXT NOT NULL,
    greeting      TEXT NOT NULL,
    metadata      TEXT NOT NULL,
    theme         TEXT NOT NULL,
    created_by    TEXT NOT NULL,
    created_at    BIGINT NOT NULL
);
CREATE UNIQUE INDEX chat_versions_number ON chat_versions (template_id, number);
CREATE INDEX chat_versions_prompt ON chat_versions (prompt_id) WHERE prompt_id <> '';

-- Which version was published, when and by which user.
CREATE TABLE chat_publications (
    template_id     TEXT NOT NULL REFERENCES chat_templates (id) ON DELETE CASCADE,
    number          BIGINT NOT NULL,
    from_version_id TEXT NOT NULL,
    from_number     BIGINT NOT NULL,
    to_version_id   TEXT NOT NULL,
    to_number       BIGINT NOT NULL,
    reason          TEXT NOT NULL,
    published_by    TEXT NOT NULL,
    published_at    BIGINT NOT NULL,
    PRIMARY KEY (template_id, number)
);

ALTER TABLE chat_templates ADD COLUMN published_version_id TEXT NOT NULL DEFAULT '';
ALTER TABLE chat_templates ADD COLUMN version_count BIGINT NOT NULL DEFAULT 0;
-- How the chat looks on a page, as JSON; empty: as by default. The columns of a token replace those of its template.
ALTER TABLE chat_templates ADD COLUMN theme TEXT NOT NULL DEFAULT '';
ALTER TABLE chat_embed_tokens ADD COLUMN theme TEXT NOT NULL DEFAULT '';

-- Versions count in the storage of their workspace.
-- +goose StatementBegin
CREATE FUNCTION usage_chat_version_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_usage(NEW.workspace_id, 0, 0, 0,
        1024 + octet_length(NEW.name) + octet_length(NEW.description) + octet_length(NEW.avatar_url) +
        octet_length(NEW.instructions) + octet_length(NEW.agents) + octet_length(NEW.tools) +
        octet_length(NEW.capabilities) + octet_length(NEW.configs) + octet_length(NEW.model_config) +
        octet_length(NEW.greeting) + octet_length(NEW.starters) + octet_length(NEW.metadata));
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER usage_chat_version_made AFTER INSERT ON chat_versions FOR EACH ROW
    EXECUTE FUNCTION usage_chat_version_made();

-- +goose StatementBegin
CREATE FUNCTION usage_chat_version_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE workspace_usage SET storage_bytes = storage_bytes - (
        1024 + octet_length(OLD.name) + octet_length(OLD.description) + octet_length(OLD.avatar_url) +
        octet_length(OLD.instructions) + octet_length(OLD.agents) + octet_length(OLD.tools) +
        octet_length(OLD.capabilities) + octet_length(OLD.configs) + octet_length(OLD.model_config) +
        octet_length(OLD.greeting) + octet_length(OLD.starters) + octet_length(OLD.metadata))
    WHERE workspace_id = OLD.workspace_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER usage_chat_version_gone AFTER DELETE ON chat_versions FOR EACH ROW
    EXECUTE FUNCTION usage_chat_version_gone();

-- What is published now becomes the first version.
INSERT INTO chat_versions (id, template_id, workspace_id, number, name, description, avatar_url, instructions, prompt_id,
    prompt_ref, agents, tools, capabilities, model_config, starters, reply, configs, greeting, metadata, theme, created_by,
    created_at)
SELECT 'cver' || substr(id, 5), id, workspace_id, 1, name, description, avatar_url, instructions, prompt_id, prompt_ref,
    agents, tools, capabilities, model_config, starters, reply, configs, greeting, metadata, '', created_by, updated_at
FROM chat_templates WHERE status = 'published';
INSERT INTO chat_publications (template_id, number, from_version_id, from_number, to_version_id, to_number, reason,
    published_by, published_at)
SELECT template_id, 1, '', 0, id, 1, '', created_by, created_at FROM chat_versions;
UPDATE chat_templates SET published_version_id = 'cver' || substr(id, 5), version_count = 1 WHERE status = 'published';
