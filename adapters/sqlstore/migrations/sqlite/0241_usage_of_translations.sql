-- +goose Up
-- The texts of chats in other languages count as all other texts of theirs do.
UPDATE workspace_usage SET storage_bytes = storage_bytes +
    COALESCE((SELECT SUM(octet_length(t.translations)) FROM chat_templates t
        WHERE t.workspace_id = workspace_usage.workspace_id), 0) +
    COALESCE((SELECT SUM(octet_length(v.translations)) FROM chat_versions v
        WHERE v.workspace_id = workspace_usage.workspace_id), 0);

-- +goose StatementBegin
CREATE TRIGGER usage_translations_made AFTER INSERT ON chat_templates FOR EACH ROW WHEN NEW.translations <> ''
BEGIN
    UPDATE workspace_usage SET storage_bytes = storage_bytes + octet_length(NEW.translations) WHERE workspace_id = NEW.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER usage_translations_changed AFTER UPDATE OF translations ON chat_templates FOR EACH ROW WHEN NEW.translations <> OLD.translations
BEGIN
    UPDATE workspace_usage SET storage_bytes = storage_bytes + octet_length(NEW.translations) - octet_length(OLD.translations) WHERE workspace_id = NEW.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER usage_translations_gone AFTER DELETE ON chat_templates FOR EACH ROW WHEN OLD.translations <> ''
BEGIN
    UPDATE workspace_usage SET storage_bytes = storage_bytes - octet_length(OLD.translations) WHERE workspace_id = OLD.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER usage_version_translations_made AFTER INSERT ON chat_versions FOR EACH ROW WHEN NEW.translations <> ''
BEGIN
    UPDATE workspace_usage SET storage_bytes = storage_bytes + octet_length(NEW.translations) WHERE workspace_id = NEW.workspace_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER usage_version_translations_gone AFTER DELETE ON chat_versions FOR EACH ROW WHEN OLD.translations <> ''
BEGIN
    UPDATE workspace_usage SET storage_bytes = storage_bytes - octet_length(OLD.translations) WHERE workspace_id = OLD.workspace_id;
END;
-- +goose StatementEnd
