-- +goose Up
-- Includes: {{> folder/name@label}} in the text of a version stands for the text of another prompt.

-- pinned: released versions include what their includes named when they were released; floating: what they name now.
ALTER TABLE prompt_templates ADD COLUMN include_mode TEXT NOT NULL DEFAULT 'pinned';

-- The includes of a version as JSON, and its content with their texts, as it was when the version was frozen. Both are
-- empty for a version that includes nothing.
ALTER TABLE prompt_versions ADD COLUMN includes TEXT NOT NULL DEFAULT '';
ALTER TABLE prompt_versions ADD COLUMN pinned TEXT NOT NULL DEFAULT '';

-- The same includes, to find what includes a template.
CREATE TABLE prompt_includes (
    version_id  TEXT NOT NULL REFERENCES prompt_versions (id) ON DELETE CASCADE,
    template_id TEXT NOT NULL, -- of the version
    target_id   TEXT NOT NULL, -- the template that is included
    ref         TEXT NOT NULL,
    PRIMARY KEY (version_id, target_id, ref)
);
CREATE INDEX prompt_includes_target ON prompt_includes (target_id, template_id);

-- What is pinned counts as storage.
DROP TRIGGER usage_version_made;
-- +goose StatementBegin
CREATE TRIGGER usage_version_made AFTER INSERT ON prompt_versions FOR EACH ROW
BEGIN
    UPDATE workspace_usage SET prompt_versions = prompt_versions + 1, storage_bytes = storage_bytes +
        1024 + octet_length(NEW.text) + octet_length(NEW.messages) + octet_length(NEW.variables) +
        octet_length(NEW.model_config) + octet_length(NEW.tools) + octet_length(NEW.response_format) +
        octet_length(NEW.commit_message) + octet_length(NEW.pinned)
    WHERE workspace_id = (SELECT workspace_id FROM prompt_templates WHERE id = NEW.template_id);
END;
-- +goose StatementEnd

DROP TRIGGER usage_version_changed;
-- +goose StatementBegin
CREATE TRIGGER usage_version_changed AFTER UPDATE ON prompt_versions FOR EACH ROW
WHEN 1024 + octet_length(NEW.text) + octet_length(NEW.messages) + octet_length(NEW.variables) +
        octet_length(NEW.model_config) + octet_length(NEW.tools) + octet_length(NEW.response_format) +
        octet_length(NEW.commit_message) + octet_length(NEW.pinned) <>
        1024 + octet_length(OLD.text) + octet_length(OLD.messages) + octet_length(OLD.variables) +
        octet_length(OLD.model_config) + octet_length(OLD.tools) + octet_length(OLD.response_format) +
        octet_length(OLD.commit_message) + octet_length(OLD.pinned)
BEGIN
    UPDATE workspace_usage SET storage_bytes = storage_bytes + (
        1024 + octet_length(NEW.text) + octet_length(NEW.messages) + octet_length(NEW.variables) +
        octet_length(NEW.model_config) + octet_length(NEW.tools) + octet_length(NEW.response_format) +
        octet_length(NEW.commit_message) + octet_length(NEW.pinned)) - (
        1024 + octet_length(OLD.text) + octet_length(OLD.messages) + octet_length(OLD.variables) +
        octet_length(OLD.model_config) + octet_length(OLD.tools) + octet_length(OLD.response_format) +
        octet_length(OLD.commit_message) + octet_length(OLD.pinned))
    WHERE workspace_id = (SELECT workspace_id FROM prompt_templates WHERE id = NEW.template_id);
END;
-- +goose StatementEnd

DROP TRIGGER usage_version_gone;
-- +goose StatementBegin
CREATE TRIGGER usage_version_gone AFTER DELETE ON prompt_versions FOR EACH ROW
BEGIN
    UPDATE workspace_usage SET prompt_versions = prompt_versions - 1, storage_bytes = storage_bytes - (
        1024 + octet_length(OLD.text) + octet_length(OLD.messages) + octet_length(OLD.variables) +
        octet_length(OLD.model_config) + octet_length(OLD.tools) + octet_length(OLD.response_format) +
        octet_length(OLD.commit_message) + octet_length(OLD.pinned))
    WHERE workspace_id = (SELECT workspace_id FROM prompt_templates WHERE id = OLD.template_id);
END;
-- +goose StatementEnd
