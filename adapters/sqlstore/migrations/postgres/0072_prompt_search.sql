-- +goose Up
-- Deleted templates are listed for those who can restore them. The beginning of a version's text is searched.
CREATE INDEX prompt_templates_trash ON prompt_templates (workspace_id, id) WHERE deleted_at <> 0;
ALTER TABLE prompt_versions ADD COLUMN search TEXT NOT NULL DEFAULT '';
UPDATE prompt_versions SET search = LOWER(LEFT(CASE WHEN messages = '' THEN text ELSE COALESCE(
    (SELECT string_agg(m ->> 'content', CHR(10)) FROM json_array_elements(messages::json) m), '') END, 16384))
    WHERE POSITION('\u0000' IN messages) = 0;
UPDATE prompt_templates SET search = search || CHR(10) || LOWER(COALESCE(
    (SELECT string_agg(g, CHR(10)) FROM json_array_elements_text(tags::json) g), ''))
    WHERE tags <> '[]' AND POSITION('\u0000' IN tags) = 0;
