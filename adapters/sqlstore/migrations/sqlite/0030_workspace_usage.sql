-- +goose Up
-- What each workspace has stored. Triggers keep it, so that it holds whatever binary writes, and in what way.
-- octet_length reads no more of a long text than its length.
CREATE TABLE workspace_usage (
    workspace_id     TEXT PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
    prompt_templates BIGINT NOT NULL DEFAULT 0, -- without deleted ones
    prompt_versions  BIGINT NOT NULL DEFAULT 0, -- with those of deleted templates
    chat_templates   BIGINT NOT NULL DEFAULT 0, -- without deleted ones
    storage_bytes    BIGINT NOT NULL DEFAULT 0  -- texts, and 1,024 for each row; with deleted ones
);

-- +goose StatementBegin
CREATE TRIGGER usage_workspace_made AFTER INSERT ON workspaces FOR EACH ROW
BEGIN
    INSERT INTO workspace_usage (workspace_id) VALUES (NEW.id);
END;
-- +goose StatementEnd

-- While their template can still tell the workspace.
-- +goose StatementBegin
CREATE TRIGGER usage_prompt_ending BEFORE DELETE ON prompt_templates FOR EACH ROW
BEGIN
    DELETE FROM prompt_versions WHERE template_id = OLD.id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER usage_prompt_made AFTER INSERT ON prompt_templates FOR EACH ROW
BEGIN
    UPDATE workspace_usage SET prompt_templates = prompt_templates + (NEW.deleted_at = 0), storage_bytes = storage_bytes +
        1024 + octet_length(NEW.name) + octet_length(NEW.description) + octet_length(NEW.tags) +
        octet_length(NEW.metadata)
    WHERE workspace_id = NEW.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER usage_prompt_changed AFTER UPDATE ON prompt_templates FOR EACH ROW
WHEN (NEW.deleted_at = 0) <> (OLD.deleted_at = 0) OR
        1024 + octet_length(NEW.name) + octet_length(NEW.description) + octet_length(NEW.tags) +
        octet_length(NEW.metadata) <>
        1024 + octet_length(OLD.name) + octet_length(OLD.description) + octet_length(OLD.tags) +
        octet_length(OLD.metadata)
BEGIN
    UPDATE workspace_usage SET prompt_templates = prompt_templates + (NEW.deleted_at = 0) - (OLD.deleted_at = 0), storage_bytes = storage_bytes + (
        1024 + octet_length(NEW.name) + octet_length(NEW.description) + octet_length(NEW.tags) +
        octet_length(NEW.metadata)) - (
        1024 + octet_length(OLD.name) + octet_length(OLD.description) + octet_length(OLD.tags) +
        octet_length(OLD.metadata))
    WHERE workspace_id = NEW.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER usage_prompt_gone AFTER DELETE ON prompt_templates FOR EACH ROW
BEGIN
    UPDATE workspace_usage SET prompt_templates = prompt_templates - (OLD.deleted_at = 0), storage_bytes = storage_bytes - (
        1024 + octet_length(OLD.name) + octet_length(OLD.description) + octet_length(OLD.tags) +
        octet_length(OLD.metadata))
    WHERE workspace_id = OLD.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER usage_chat_made AFTER INSERT ON chat_templates FOR EACH ROW
BEGIN
    UPDATE workspace_usage SET chat_templates = chat_templates + (NEW.deleted_at = 0), storage_bytes = storage_bytes +
        1024 + octet_length(NEW.name) + octet_length(NEW.description) + octet_length(NEW.avatar_url) +
        octet_length(NEW.instructions) + octet_length(NEW.agents) + octet_length(NEW.tools) +
        octet_length(NEW.capabilities) + octet_length(NEW.configs) + octet_length(NEW.model_config) +
        octet_length(NEW.greeting) + octet_length(NEW.starters) + octet_length(NEW.metadata) +
        octet_length(NEW.workflows)
    WHERE workspace_id = NEW.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER usage_chat_changed AFTER UPDATE ON chat_templates FOR EACH ROW
WHEN (NEW.deleted_at = 0) <> (OLD.deleted_at = 0) OR
        1024 + octet_length(NEW.name) + octet_length(NEW.description) + octet_length(NEW.avatar_url) +
        octet_length(NEW.instructions) + octet_length(NEW.agents) + octet_length(NEW.tools) +
        octet_length(NEW.capabilities) + octet_length(NEW.configs) + octet_length(NEW.model_config) +
        octet_length(NEW.greeting) + octet_length(NEW.starters) + octet_length(NEW.metadata) +
        octet_length(NEW.workflows) <>
        1024 + octet_length(OLD.name) + octet_length(OLD.description) + octet_length(OLD.avatar_url) +
        octet_length(OLD.instructions) + octet_length(OLD.agents) + octet_length(OLD.tools) +
        octet_length(OLD.capabilities) + octet_length(OLD.configs) + octet_length(OLD.model_config) +
        octet_length(OLD.greeting) + octet_length(OLD.starters) + octet_length(OLD.metadata) +
        octet_length(OLD.workflows)
BEGIN
    UPDATE workspace_usage SET chat_templates = chat_templates + (NEW.deleted_at = 0) - (OLD.deleted_at = 0), storage_bytes = storage_bytes + (
        1024 + octet_length(NEW.name) + octet_length(NEW.description) + octet_length(NEW.avatar_url) +
        octet_length(NEW.instructions) + octet_length(NEW.agents) + octet_length(NEW.tools) +
        octet_length(NEW.capabilities) + octet_length(NEW.configs) + octet_length(NEW.model_config) +
        octet_length(NEW.greeting) + octet_length(NEW.starters) + octet_length(NEW.metadata) +
        octet_length(NEW.workflows)) - (
        1024 + octet_length(OLD.name) + octet_length(OLD.description) + octet_length(OLD.avatar_url) +
        octet_length(OLD.instructions) + octet_length(OLD.agents) + octet_length(OLD.tools) +
        octet_length(OLD.capabilities) + octet_length(OLD.configs) + octet_length(OLD.model_config) +
        octet_length(OLD.greeting) + octet_length(OLD.starters) + octet_length(OLD.metadata) +
        octet_length(OLD.workflows))
    WHERE workspace_id = NEW.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER usage_chat_gone AFTER DELETE ON chat_templates FOR EACH ROW
BEGIN
    UPDATE workspace_usage SET chat_templates = chat_templates - (OLD.deleted_at = 0), storage_bytes = storage_bytes - (
        1024 + octet_length(OLD.name) + octet_length(OLD.description) + octet_length(OLD.avatar_url) +
        octet_length(OLD.instructions) + octet_length(OLD.agents) + octet_length(OLD.tools) +
        octet_length(OLD.capabilities) + octet_length(OLD.configs) + octet_length(OLD.model_config) +
        octet_length(OLD.greeting) + octet_length(OLD.starters) + octet_length(OLD.metadata) +
        octet_length(OLD.workflows))
    WHERE workspace_id = OLD.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER usage_version_made AFTER INSERT ON prompt_versions FOR EACH ROW
BEGIN
    UPDATE workspace_usage SET prompt_versions = prompt_versions + 1, storage_bytes = storage_bytes +
        1024 + octet_length(NEW.text) + octet_length(NEW.messages) + octet_length(NEW.variables) +
        octet_length(NEW.model_config) + octet_length(NEW.tools) + octet_length(NEW.response_format) +
        octet_length(NEW.commit_message)
    WHERE workspace_id = (SELECT workspace_id FROM prompt_templates WHERE id = NEW.template_id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER usage_version_changed AFTER UPDATE ON prompt_versions FOR EACH ROW
WHEN 1024 + octet_length(NEW.text) + octet_length(NEW.messages) + octet_length(NEW.variables) +
        octet_length(NEW.model_config) + octet_length(NEW.tools) + octet_length(NEW.response_format) +
        octet_length(NEW.commit_message) <>
        1024 + octet_length(OLD.text) + octet_length(OLD.messages) + octet_length(OLD.variables) +
        octet_length(OLD.model_config) + octet_length(OLD.tools) + octet_length(OLD.response_format) +
        octet_length(OLD.commit_message)
BEGIN
    UPDATE workspace_usage SET storage_bytes = storage_bytes + (
        1024 + octet_length(NEW.text) + octet_length(NEW.messages) + octet_length(NEW.variables) +
        octet_length(NEW.model_config) + octet_length(NEW.tools) + octet_length(NEW.response_format) +
        octet_length(NEW.commit_message)) - (
        1024 + octet_length(OLD.text) + octet_length(OLD.messages) + octet_length(OLD.variables) +
        octet_length(OLD.model_config) + octet_length(OLD.tools) + octet_length(OLD.response_format) +
        octet_length(OLD.commit_message))
    WHERE workspace_id = (SELECT workspace_id FROM prompt_templates WHERE id = NEW.template_id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER usage_version_gone AFTER DELETE ON prompt_versions FOR EACH ROW
BEGIN
    UPDATE workspace_usage SET prompt_versions = prompt_versions - 1, storage_bytes = storage_bytes - (
        1024 + octet_length(OLD.text) + octet_length(OLD.messages) + octet_length(OLD.variables) +
        octet_length(OLD.model_config) + octet_length(OLD.tools) + octet_length(OLD.response_format) +
        octet_length(OLD.commit_message))
    WHERE workspace_id = (SELECT workspace_id FROM prompt_templates WHERE id = OLD.template_id);
END;
-- +goose StatementEnd

INSERT INTO workspace_usage (workspace_id, prompt_templates, prompt_versions, chat_templates, storage_bytes)
WITH p AS (
    SELECT workspace_id, SUM(CASE WHEN deleted_at = 0 THEN 1 ELSE 0 END) AS live, SUM(
        1024 + octet_length(name) + octet_length(description) + octet_length(tags) +
        octet_length(metadata)) AS bytes
    FROM prompt_templates GROUP BY workspace_id
), v AS (
    SELECT t.workspace_id, COUNT(*) AS versions, SUM(
        1024 + octet_length(v.text) + octet_length(v.messages) + octet_length(v.variables) +
        octet_length(v.model_config) + octet_length(v.tools) + octet_length(v.response_format) +
        octet_length(v.commit_message)) AS bytes
    FROM prompt_versions v JOIN prompt_templates t ON t.id = v.template_id GROUP BY t.workspace_id
), c AS (
    SELECT workspace_id, SUM(CASE WHEN deleted_at = 0 THEN 1 ELSE 0 END) AS live, SUM(
        1024 + octet_length(name) + octet_length(description) + octet_length(avatar_url) +
        octet_length(instructions) + octet_length(agents) + octet_length(tools) +
        octet_length(capabilities) + octet_length(configs) + octet_length(model_config) +
        octet_length(greeting) + octet_length(starters) + octet_length(metadata) + octet_length(workflows)) AS bytes
    FROM chat_templates GROUP BY workspace_id
)
SELECT w.id, COALESCE(p.live, 0), COALESCE(v.versions, 0), COALESCE(c.live, 0), COALESCE(p.bytes, 0) + COALESCE(v.bytes, 0) + COALESCE(c.bytes, 0)
FROM workspaces w LEFT JOIN p ON p.workspace_id = w.id LEFT JOIN v ON v.workspace_id = w.id LEFT JOIN c ON c.workspace_id = w.id;
