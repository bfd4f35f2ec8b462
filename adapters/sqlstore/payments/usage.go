package payments

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// Usage reads the counts that triggers maintain with each statement, so that they are right whichever release writes.
type Usage struct{ db *Store }

var _ ports.Usage = (*Usage)(nil)

// Amounts implements ports.Usage. It reads without a lock, and does not count what concurrent transactions have added.
func (s *Usage) Amounts(ctx context.Context, ws identity.WorkspaceID, now time.Time) (quota.Amounts, error) {
	var row struct {
		PromptTemplates int64 `db:"prompt_templates"`
		PromptVersions  int64 `db:"prompt_versions"`
		ChatTemplates   int64 `db:"chat_templates"`
		StorageBytes    int64 `db:"storage_bytes"`
		Members         int64 `db:"members"`
		Connections     int64 `db:"connections"`
		Sources         int64 `db:"sources"`
		Streams         int64 `db:"streams"`
	}
	_, err := s.db.Get(ctx, &row, `
		SELECT u.prompt_templates + p.prompt_templates AS prompt_templates,
			u.prompt_versions + p.prompt_versions AS prompt_versions,
			u.chat_templates + p.chat_templates AS chat_templates,
			u.storage_bytes + p.storage_bytes + (SELECT CAST(COALESCE(SUM(f.size + f.pending_size), 0) AS BIGINT)
				FROM source_files f WHERE f.workspace_id = u.workspace_id) AS storage_bytes, u.connections, u.sources,
			u.members + (SELECT COUNT(*) FROM invitations i WHERE i.workspace_id = u.workspace_id AND i.open
				AND i.expires_at > ?) AS members,
			(SELECT CAST(COALESCE(SUM(c.streams), 0) AS BIGINT) FROM stream_counts c
				JOIN stream_nodes n ON n.node = c.node
				WHERE c.workspace_id = u.workspace_id AND n.alive_until > ?) AS streams
		FROM workspace_usage u, (
			SELECT CAST(COALESCE(SUM(prompt_templates), 0) AS BIGINT) AS prompt_templates,
				CAST(COALESCE(SUM(prompt_versions), 0) AS BIGINT) AS prompt_versions,
				CAST(COALESCE(SUM(chat_templates), 0) AS BIGINT) AS chat_templates,
				CAST(COALESCE(SUM(storage_bytes), 0) AS BIGINT) AS storage_bytes
			FROM workspace_usage_parts WHERE workspace_id = ?
		) p
		WHERE u.workspace_id = ?`, db.Micros(now), db.Micros(now), ws, ws)
	return quota.Amounts(row), err
}

// Lock implements ports.Usage. SQLite has one writer at a time, which needs no lock.
func (s *Usage) Lock(ctx context.Context, ws identity.WorkspaceID) error {
	if s.db.Dialect.Lock == "" {
		return nil
	}
	var id identity.WorkspaceID
	_, err := s.db.Get(ctx, &id, `SELECT t.workspace_id FROM workspace_usage t WHERE t.workspace_id = ?`+
		s.db.Dialect.Lock, ws)
	return err
}
