package jobs

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/ports"
)

// Queue hands queued jobs to workers.
type Queue struct{ db *Store }

var _ ports.JobQueue = (*Queue)(nil)

// NewQueue returns the queue in a database.
func NewQueue(d *db.DB) *Queue { return &Queue{NewStore(d)} }

// liveIndex allows one queued and one running job of each kind and subject.
const liveIndex = "jobs_live"

type jobRow struct {
	ID        job.ID               `db:"id"`
	Kind      job.Kind             `db:"kind"`
	Org       identity.OrgID       `db:"org_id"`
	Workspace identity.WorkspaceID `db:"workspace_id"`
	Subject   string               `db:"subject"`
	State     job.State            `db:"state"`
	DueAt     int64                `db:"due_at"`
	Attempt   int                  `db:"attempt"`
	Failures  int                  `db:"failures"`
	Failure   string               `db:"failure"`
	CreatedAt int64                `db:"created_at"`
}

func (r *jobRow) job() job.Job {
	return job.Job{
		ID: r.ID, Kind: r.Kind, Org: r.Org, Workspace: r.Workspace, Subject: r.Subject,
		Due: db.FromMicros(r.DueAt), Attempt: r.Attempt, Failures: r.Failures, CreatedAt: db.FromMicros(r.CreatedAt),
	}
}

// Renew implements ports.JobQueue.
func (q *Queue) Renew(ctx context.Context, j job.Job, expiry time.Time) error {
	n, err := q.db.Exec(ctx, `UPDATE jobs SET due_at = ? WHERE id = ? AND state = ? AND attempt = ?`,
		db.Micros(expiry), j.ID, job.Running, j.Attempt)
	if err == nil && n == 0 {
		return ports.ErrJobLost
	}
	return err
}

// Release implements ports.JobQueue.
func (q *Queue) Release(ctx context.Context, now time.Time) error {
	_, err := q.db.Exec(ctx, `UPDATE jobs SET due_at = ? WHERE state = ? AND ended_at = 0 AND due_at > ?`,
		db.Micros(now), job.Running, db.Micros(now))
	return err
}

// Settle implements ports.JobQueue.
func (q *Queue) Settle(ctx context.Context, j job.Job, o job.Outcome) error {
	return q.db.inTx(ctx, func(tx *Store) error {
		state, endedAt := o.State, o.At
		if o.State == job.Queued {
			isMerged, err := tx.mergeQueued(ctx, j, o)
			switch {
			case err != nil:
				return err
			case !isMerged:
				endedAt = time.Time{}
			case o.Failure == job.Busy: // nothing was done, so the history does not change
				return tx.settled(tx.Exec(ctx, `DELETE FROM jobs WHERE id = ? AND state = ? AND attempt = ?`, j.ID,
					job.Running, j.Attempt))
			default:
				state = job.Failed
			}
		}
		return tx.settled(tx.Exec(ctx, `UPDATE jobs SET state = ?, due_at = ?, failures = ?, failure = ?, ended_at = ?
			WHERE id = ? AND state = ? AND attempt = ?`,
			state, db.Micros(o.Due), o.Failures, o.Failure, db.Micros(endedAt), j.ID, job.Running, j.Attempt))
	})
}

// mergeQueued uses the queued job of j's kind and subject, if it exists, as j's next attempt. That job keeps its own
// number of attempts.
func (store *Store) mergeQueued(ctx context.Context, j job.Job, o job.Outcome) (isMerged bool, err error) {
	set, args := `due_at = CASE WHEN due_at < ? THEN due_at ELSE ? END`, []any{db.Micros(o.Due), db.Micros(o.Due)}
	if o.Failure == job.Busy { // its workspace has had its turn
		set = `due_at = ?, failure = ?, started_at = (SELECT r.started_at FROM jobs r WHERE r.id = ?)`
		args = []any{db.Micros(o.Due), o.Failure, j.ID}
	}
	n, err := store.Exec(ctx, `UPDATE jobs SET `+set+` WHERE workspace_id = ? AND subject = ? AND kind = ? AND state = ?
		AND org_id = ? AND ended_at = 0`,
		append(args, j.Workspace, j.Subject, j.Kind, job.Queued, j.Org)...)
	return n == 1, err
}

// settled returns the error of settling a job: ports.ErrJobLost if the statement changed no row.
func (store *Store) settled(n int64, err error) error {
	switch {
	case store.Dialect.Duplicate(err, liveIndex):
		return db.ErrRaced // the same job was just enqueued: run again to merge them
	case err != nil:
		return err
	case n == 0:
		return ports.ErrJobLost
	}
	return nil
}

// Backlog is the state of a queue, for operators.
type Backlog struct {
	Queued, Running int
	Due             time.Time // the time since when the first one has been due; zero without due jobs
	Failed          int       // for good, within the last week
	LastFailed      job.Job
	LastFailure     string // why it failed: a code
	LastFailedAt    time.Time
}

// Backlog returns the state of the queue for the jobs of all orgs.
func (q *Queue) Backlog(ctx context.Context, now time.Time) (Backlog, error) {
	var b Backlog
	var states []struct {
		State job.State `db:"state"`
		Jobs  int       `db:"jobs"`
		Due   int64     `db:"due"`
	}
	if err := q.db.List(ctx, &states,
		`SELECT state, COUNT(*) AS jobs, MIN(due_at) AS due FROM jobs GROUP BY state`); err != nil {
		return b, err
	}
	for _, s := range states {
		switch s.State {
		case job.Queued:
			if b.Queued = s.Jobs; s.Due <= db.Micros(now) {
				b.Due = db.FromMicros(s.Due)
			}
		case job.Running:
			b.Running = s.Jobs
		case job.Failed:
			b.Failed = s.Jobs
		}
	}
	var last struct {
		jobRow
		EndedAt int64 `db:"ended_at"`
	}
	found, err := q.db.Get(ctx, &last, `
		SELECT id, kind, org_id, workspace_id, subject, state, due_at, attempt, failures, failure, created_at, ended_at
		FROM jobs WHERE state = ? AND ended_at > 0 ORDER BY ended_at DESC LIMIT 1`, job.Failed)
	if found {
		b.LastFailed, b.LastFailure, b.LastFailedAt = last.job(), last.Failure, db.FromMicros(last.EndedAt)
	}
	return b, err
}
