package sqlstore

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// Usage reads the counts that triggers maintain with each statement, so that they are right for every version of the
// binary.
type Usage struct{ db *DB }

var _ ports.Usage = (*Usage)(nil)

// Of implements ports.Usage. The row is locked where the transaction has changed it.
func (s *Usage) Of(ctx context.Context, ws identity.WorkspaceID, at time.Time) (quota.Amounts, error) {
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
	_, err := s.db.get(ctx, &row, `
		SELECT u.prompt_templates, u.prompt_versions, u.chat_templates, u.storage_bytes, u.connections, u.sources,
			u.members + (SELECT COUNT(*) FROM invitations i WHERE i.workspace_id = u.workspace_id AND i.open AND i.expires_at > ?) AS members,
			(SELECT CAST(COALESCE(SUM(c.streams), 0) AS BIGINT) FROM stream_counts c JOIN stream_nodes n ON n.node = c.node
				WHERE c.workspace_id = u.workspace_id AND n.alive_until > ?) AS streams
		FROM workspace_usage u WHERE u.workspace_id = ?`, micros(at), micros(at), ws)
	return quota.Amounts(row), err
}
