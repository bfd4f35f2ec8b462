-- +goose Up
-- The texts of chats in other languages count as all other texts of theirs do.
SELECT count_usage(workspace_id, 0, 0, 0, SUM(octet_length(translations))) FROM (
    SELECT workspace_id, translations FROM chat_templates UNION ALL SELECT workspace_id, translations FROM chat_versions) c
WHERE translations <> '' GROUP BY workspace_id;

-- +goose StatementBegin
CREATE FUNCTION usage_translations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        UPDATE workspace_usage SET storage_bytes = storage_bytes - octet_length(OLD.translations)
        WHERE workspace_id = OLD.workspace_id;
    ELSIF TG_OP = 'INSERT' THEN
        PERFORM count_usage(NEW.workspace_id, 0, 0, 0, octet_length(NEW.translations));
    ELSE
        PERFORM count_usage(NEW.workspace_id, 0, 0, 0,
            octet_length(NEW.translations) - octet_length(OLD.translations));
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER usage_translations_made AFTER INSERT ON chat_templates FOR EACH ROW
    WHEN (NEW.translations <> '') EXECUTE FUNCTION usage_translations();
CREATE TRIGGER usage_translations_changed AFTER UPDATE ON chat_templates FOR EACH ROW
    WHEN (NEW.translations <> OLD.translations) EXECUTE FUNCTION usage_translations();
CREATE TRIGGER usage_translations_gone AFTER DELETE ON chat_templates FOR EACH ROW
    WHEN (OLD.translations <> '') EXECUTE FUNCTION usage_translations();
CREATE TRIGGER usage_translations_made AFTER INSERT ON chat_versions FOR EACH ROW
    WHEN (NEW.translations <> '') EXECUTE FUNCTION usage_translations();
CREATE TRIGGER usage_translations_gone AFTER DELETE ON chat_versions FOR EACH ROW
    WHEN (OLD.translations <> '') EXECUTE FUNCTION usage_translations();
