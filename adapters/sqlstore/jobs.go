package sqlstore

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/ports"
)

// Jobs queues jobs, and cancels them.
type Jobs struct{ db *DB }

var _ ports.Jobs = (*Jobs)(nil)

// Enqueue implements ports.Jobs.
func (s *Jobs) Enqueue(ctx context.Context, j job.Job) error {
	_, err := s.db.exec(ctx, `
		INSERT INTO jobs (id, org_id, workspace_id, subject, kind, state, due_at, attempt, failures, failure, created_at, started_at, ended_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, '', ?, 0, 0)
		ON CONFLICT (workspace_id, subject, kind, state, org_id) WHERE ended_at = 0 DO UPDATE SET
			due_at = CASE WHEN jobs.due_at < excluded.due_at THEN jobs.due_at ELSE excluded.due_at END, failures = 0, failure = ''`,
		j.ID, j.Org, j.Workspace, j.Subject, j.Kind, job.Queued, micros(j.Due), micros(j.CreatedAt))
	return err
}

// Cancel implements ports.Jobs.
func (s *Jobs) Cancel(ctx context.Context, ws identity.WorkspaceID, subject string) (int, error) {
	cancelled, err := s.db.exec(ctx, `DELETE FROM jobs WHERE workspace_id = ? AND subject = ? AND state = ? AND ended_at = 0`, ws, subject, job.Queued)
	return int(cancelled), err
}
