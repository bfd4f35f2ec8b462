package sqlstore

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// Usage reads the counts that triggers maintain with each statement, so that they are right for every version of the
// binary.
type Usage struct{ db *DB }

var _ ports.Usage = (*Usage)(nil)

// Of implements ports.Usage. The row is locked where the transaction has changed it.
func (s *Usage) Of(ctx context.Context, ws identity.WorkspaceID) (quota.Amounts, error) {
	var row struct {
		PromptTemplates int64 `db:"prompt_templates"`
		PromptVersions  int64 `db:"prompt_versions"`
		ChatTemplates   int64 `db:"chat_templates"`
		StorageBytes    int64 `db:"storage_bytes"`
	}
	_, err := s.db.get(ctx, &row, `SELECT prompt_templates, prompt_versions, chat_templates, storage_bytes FROM workspace_usage WHERE workspace_id = ?`, ws)
	return quota.Amounts(row), err
}
