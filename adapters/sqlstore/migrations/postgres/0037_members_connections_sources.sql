-- +goose Up
-- Triggers count what plans limit besides texts: people, live connections and data sources.
ALTER TABLE workspace_usage ADD COLUMN members BIGINT NOT NULL DEFAULT 0;     -- people, without the bearers of service keys
ALTER TABLE workspace_usage ADD COLUMN connections BIGINT NOT NULL DEFAULT 0; -- without revoked ones
ALTER TABLE workspace_usage ADD COLUMN sources BIGINT NOT NULL DEFAULT 0;

-- Writers wait until the counts are made.
LOCK TABLE memberships, connections, sources IN SHARE ROW EXCLUSIVE MODE;

-- +goose StatementBegin
CREATE FUNCTION usage_member_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE workspace_usage SET members = members + 1
    WHERE workspace_id = NEW.workspace_id AND NOT (SELECT service FROM users WHERE id = NEW.user_id);
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER usage_member_made AFTER INSERT ON memberships FOR EACH ROW EXECUTE FUNCTION usage_member_made();

-- +goose StatementBegin
CREATE FUNCTION usage_member_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE workspace_usage SET members = members - 1
    WHERE workspace_id = OLD.workspace_id AND NOT (SELECT service FROM users WHERE id = OLD.user_id);
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER usage_member_gone AFTER DELETE ON memberships FOR EACH ROW EXECUTE FUNCTION usage_member_gone();

-- +goose StatementBegin
CREATE FUNCTION usage_connection_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE workspace_usage SET connections = connections + 1 WHERE workspace_id = NEW.workspace_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER usage_connection_made AFTER INSERT ON connections FOR EACH ROW
    WHEN (NEW.revoked_at = 0) EXECUTE FUNCTION usage_connection_made();

-- +goose StatementBegin
CREATE FUNCTION usage_connection_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE workspace_usage SET connections = connections + (NEW.revoked_at = 0)::INT - (OLD.revoked_at = 0)::INT WHERE workspace_id = NEW.workspace_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER usage_connection_changed AFTER UPDATE ON connections FOR EACH ROW
    WHEN ((NEW.revoked_at = 0) <> (OLD.revoked_at = 0)) EXECUTE FUNCTION usage_connection_changed();

-- +goose StatementBegin
CREATE FUNCTION usage_connection_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE workspace_usage SET connections = connections - 1 WHERE workspace_id = OLD.workspace_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER usage_connection_gone AFTER DELETE ON connections FOR EACH ROW
    WHEN (OLD.revoked_at = 0) EXECUTE FUNCTION usage_connection_gone();

-- +goose StatementBegin
CREATE FUNCTION usage_source_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE workspace_usage SET sources = sources + 1 WHERE workspace_id = NEW.workspace_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER usage_source_made AFTER INSERT ON sources FOR EACH ROW EXECUTE FUNCTION usage_source_made();

-- +goose StatementBegin
CREATE FUNCTION usage_source_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE workspace_usage SET sources = sources - 1 WHERE workspace_id = OLD.workspace_id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER usage_source_gone AFTER DELETE ON sources FOR EACH ROW EXECUTE FUNCTION usage_source_gone();

UPDATE workspace_usage SET
    members = (SELECT COUNT(*) FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.workspace_id = workspace_usage.workspace_id AND NOT u.service),
    connections = (SELECT COUNT(*) FROM connections c WHERE c.workspace_id = workspace_usage.workspace_id AND c.revoked_at = 0),
    sources = (SELECT COUNT(*) FROM sources s WHERE s.workspace_id = workspace_usage.workspace_id);

-- The open streams of a workspace on each node. They count while their node is alive.
CREATE TABLE stream_nodes (
    node        TEXT PRIMARY KEY,
    alive_until BIGINT NOT NULL
);

CREATE TABLE stream_counts (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    node         TEXT NOT NULL REFERENCES stream_nodes (node) ON DELETE CASCADE,
    streams      BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, node)
);
CREATE INDEX stream_counts_node ON stream_counts (node);
