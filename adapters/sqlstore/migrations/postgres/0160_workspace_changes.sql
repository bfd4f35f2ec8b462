-- +goose Up

-- The workspaces that transactions have changed, so that nodes learn that what they have cached is still current
-- (ADR 127). Triggers write it, so that it holds whatever binary writes. Nodes remove rows after a minute. An empty
-- workspace_id stands for all: people and their credentials have changed.
CREATE TABLE workspace_changes (
    xid          BIGINT NOT NULL, -- the transaction
    workspace_id TEXT NOT NULL,
    PRIMARY KEY (xid, workspace_id)
);

-- +goose StatementBegin
CREATE FUNCTION note_workspace() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO workspace_changes VALUES (pg_current_xact_id()::text::bigint, OLD.workspace_id) ON CONFLICT DO NOTHING;
    END IF;
    IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND NEW.workspace_id <> OLD.workspace_id THEN
        INSERT INTO workspace_changes VALUES (pg_current_xact_id()::text::bigint, NEW.workspace_id) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- The workspace of a template; none if the template has just been deleted, which its own trigger notes.
-- +goose StatementBegin
CREATE FUNCTION note_prompt() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    template TEXT;
BEGIN
    IF TG_OP = 'DELETE' THEN template := OLD.template_id; ELSE template := NEW.template_id; END IF;
    INSERT INTO workspace_changes SELECT pg_current_xact_id()::text::bigint, workspace_id FROM prompt_templates
        WHERE id = template ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION note_everyone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO workspace_changes VALUES (pg_current_xact_id()::text::bigint, '') ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON prompt_templates FOR EACH ROW EXECUTE FUNCTION note_workspace();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON prompt_shares FOR EACH ROW EXECUTE FUNCTION note_workspace();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON prompt_folder_shares FOR EACH ROW EXECUTE FUNCTION note_workspace();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON user_groups FOR EACH ROW EXECUTE FUNCTION note_workspace();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON group_people FOR EACH ROW EXECUTE FUNCTION note_workspace();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON chat_templates FOR EACH ROW EXECUTE FUNCTION note_workspace();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON chat_members FOR EACH ROW EXECUTE FUNCTION note_workspace();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON chat_versions FOR EACH ROW EXECUTE FUNCTION note_workspace();

CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON prompt_versions FOR EACH ROW EXECUTE FUNCTION note_prompt();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON prompt_labels FOR EACH ROW EXECUTE FUNCTION note_prompt();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON prompt_rollouts FOR EACH ROW EXECUTE FUNCTION note_prompt();
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON prompt_includes FOR EACH ROW EXECUTE FUNCTION note_prompt();

-- Credentials that do not work are not cached, so new ones change nothing. The time of the last use does not count.
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON memberships FOR EACH ROW EXECUTE FUNCTION note_everyone();
CREATE TRIGGER changed AFTER UPDATE OR DELETE ON workspaces FOR EACH ROW EXECUTE FUNCTION note_everyone();
CREATE TRIGGER changed AFTER UPDATE OR DELETE ON users FOR EACH ROW EXECUTE FUNCTION note_everyone();
CREATE TRIGGER changed AFTER UPDATE OR DELETE ON sign_ins FOR EACH ROW EXECUTE FUNCTION note_everyone();
CREATE TRIGGER removed AFTER DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION note_everyone();
CREATE TRIGGER changed AFTER UPDATE ON api_keys FOR EACH ROW
    WHEN (to_jsonb(OLD) - 'last_used_at' - 'last_used_by' <> to_jsonb(NEW) - 'last_used_at' - 'last_used_by')
    EXECUTE FUNCTION note_everyone();
CREATE TRIGGER removed AFTER DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION note_everyone();
CREATE TRIGGER changed AFTER UPDATE ON sessions FOR EACH ROW
    WHEN (to_jsonb(OLD) - 'last_seen_at' <> to_jsonb(NEW) - 'last_seen_at') EXECUTE FUNCTION note_everyone();

-- Shares that end, which change what is cached too.
CREATE INDEX prompt_shares_end ON prompt_shares (expires_at) WHERE expires_at > 0;
CREATE INDEX prompt_folder_shares_end ON prompt_folder_shares (expires_at) WHERE expires_at > 0;
