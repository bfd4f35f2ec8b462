package jobs

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
)

// Jobs queues jobs, and cancels them.
type Jobs struct{ db *Store }

var _ ports.Jobs = (*Jobs)(nil)

// Enqueue implements ports.Jobs.
func (s *Jobs) Enqueue(ctx context.Context, j job.Job) error { return Enqueue(ctx, s.db.DB, j) }

// Enqueue implements ports.Jobs.Enqueue for other areas' stores, in a database or transaction.
func Enqueue(ctx context.Context, d *db.DB, j job.Job) error {
	_, err := d.Exec(ctx, `
		INSERT INTO jobs (id, org_id, workspace_id, subject, kind, state, due_at, attempt, failures, failure,
		created_at, started_at, ended_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, '', ?, 0, 0)
		ON CONFLICT (workspace_id, subject, kind, state, org_id) WHERE ended_at = 0 DO UPDATE SET
			due_at = CASE WHEN jobs.due_at < excluded.due_at THEN jobs.due_at ELSE excluded.due_at END, failures = 0,
			failure = ''`,
		j.ID, j.Org, j.Workspace, j.Subject, j.Kind, job.Queued, db.Micros(j.Due), db.Micros(j.CreatedAt))
	return err
}

// Cancel implements ports.Jobs.
func (s *Jobs) Cancel(ctx context.Context, ws identity.WorkspaceID, subject string) (int, error) {
	count, err := s.db.Exec(ctx, `DELETE FROM jobs WHERE workspace_id = ? AND subject = ? AND state = ?
		AND ended_at = 0`, ws, subject, job.Queued)
	return int(count), err
}

// History implements ports.Jobs.
func (s *Jobs) History(
	ctx context.Context, ws identity.WorkspaceID, subject string, q page.Query,
) (page.Of[job.Entry], error) {
	conditions := db.NewConditions(`workspace_id = ? AND subject = ?`, ws, subject)
	conditions.When(q.After != "", `id < ?`, q.After)
	var rows []struct {
		jobRow
		StartedAt int64 `db:"started_at"`
		EndedAt   int64 `db:"ended_at"`
	}
	err := s.db.List(ctx, &rows, `
		SELECT id, kind, org_id, workspace_id, subject, state, due_at, attempt, failures, failure, created_at,
		started_at, ended_at
		FROM jobs WHERE `+conditions.SQL()+` ORDER BY id DESC LIMIT ?`, conditions.Args(q.Limit+1)...)
	if err != nil {
		return page.Of[job.Entry]{}, err
	}
	entries := make([]job.Entry, len(rows))
	for i := range rows {
		r := &rows[i]
		entries[i] = job.Entry{Job: r.job(), State: r.State, Failure: r.Failure, StartedAt: db.FromMicros(r.StartedAt),
			EndedAt: db.FromMicros(r.EndedAt)}
	}
	return page.Cut(entries, q.Limit, func(e job.Entry) string { return string(e.ID) }), nil
}
