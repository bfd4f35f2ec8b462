-- +goose Up

-- A new version changes no cached response until its template refers to it, and the change of the template is noted by
-- its own trigger. So adding a version calls one trigger less.
CREATE OR REPLACE TRIGGER changed AFTER UPDATE OR DELETE ON prompt_versions FOR EACH ROW EXECUTE FUNCTION note_prompt();
