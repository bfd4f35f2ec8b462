-- +goose Up
-- Deleted templates are listed for those who can restore them. The beginning of a version's text is searched.
CREATE INDEX prompt_templates_trash ON prompt_templates (workspace_id, id) WHERE deleted_at <> 0;
ALTER TABLE prompt_versions ADD COLUMN search TEXT NOT NULL DEFAULT '';
UPDATE prompt_versions SET search = LOWER(SUBSTR(CASE WHEN messages = '' THEN text ELSE COALESCE(
    (SELECT group_concat(json_extract(m.value, '$.content'), CHAR(10)) FROM json_each(messages) m), '') END, 1, 16384));
UPDATE prompt_templates SET search = search || CHAR(10) || LOWER(COALESCE(
    (SELECT group_concat(g.value, CHAR(10)) FROM json_each(tags) g), '')) WHERE tags <> '[]';
