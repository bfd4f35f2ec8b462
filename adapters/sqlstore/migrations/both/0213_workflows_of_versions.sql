-- +goose Up

-- The workflows that a version starts, as in chat_templates. Existing versions get those that their template has now.
ALTER TABLE chat_versions ADD COLUMN workflows TEXT NOT NULL DEFAULT '';
UPDATE chat_versions SET workflows = (SELECT t.workflows FROM chat_templates t WHERE t.id = chat_versions.template_id);
