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
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION usage_version_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_usage((SELECT workspace_id FROM prompt_templates WHERE id = NEW.template_id), 0, 1, 0,
        1024 + octet_length(NEW.text) + octet_length(NEW.messages) + octet_length(NEW.variables) +
        octet_length(NEW.model_config) + octet_length(NEW.tools) + octet_length(NEW.response_format) +
        octet_length(NEW.commit_message) + octet_length(NEW.pinned));
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION usage_version_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_usage((SELECT workspace_id FROM prompt_templates WHERE id = NEW.template_id), 0, 0, 0,
        (1024 + octet_length(NEW.text) + octet_length(NEW.messages) + octet_length(NEW.variables) +
        octet_length(NEW.model_config) + octet_length(NEW.tools) + octet_length(NEW.response_format) +
        octet_length(NEW.commit_message) + octet_length(NEW.pinned)) - (
        1024 + octet_length(OLD.text) + octet_length(OLD.messages) + octet_length(OLD.variables) +
        octet_length(OLD.model_config) + octet_length(OLD.tools) + octet_length(OLD.response_format) +
        octet_length(OLD.commit_message) + octet_length(OLD.pinned)));
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION usage_versions_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE workspace_usage u SET prompt_versions = u.prompt_versions - d.versions, storage_bytes = u.storage_bytes - d.bytes
    FROM (
        SELECT t.workspace_id, COUNT(*) AS versions, SUM(
        1024 + octet_length(v.text) + octet_length(v.messages) + octet_length(v.variables) +
        octet_length(v.model_config) + octet_length(v.tools) + octet_length(v.response_format) +
        octet_length(v.commit_message) + octet_length(v.pinned)) AS bytes
        FROM gone v JOIN prompt_templates t ON t.id = v.template_id GROUP BY t.workspace_id
    ) d
    WHERE u.workspace_id = d.workspace_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd

DROP TRIGGER usage_version_changed ON prompt_versions;
CREATE TRIGGER usage_version_changed AFTER UPDATE ON prompt_versions FOR EACH ROW
    WHEN (1024 + octet_length(NEW.text) + octet_length(NEW.messages) + octet_length(NEW.variables) +
        octet_length(NEW.model_config) + octet_length(NEW.tools) + octet_length(NEW.response_format) +
        octet_length(NEW.commit_message) + octet_length(NEW.pinned) <>
        1024 + octet_length(OLD.text) + octet_length(OLD.messages) + octet_length(OLD.variables) +
        octet_length(OLD.model_config) + octet_length(OLD.tools) + octet_length(OLD.response_format) +
        octet_length(OLD.commit_message) + octet_length(OLD.pinned)) EXECUTE FUNCTION usage_version_changed();
