package sqlstore

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/ports"
)

// JobQueue hands queued jobs to workers.
type JobQueue struct{ db *DB }

var _ ports.JobQueue = (*JobQueue)(nil)

// NewJobQueue returns the queue in db.
func NewJobQueue(db *DB) *JobQueue { return &JobQueue{db} }

// jobsKept is how long a job that has ended can be looked at.
const jobsKept = 7 * 24 * time.Hour

// jobsIndex allows one queued and one running job of each kind and subject.
const jobsIndex = "jobs_live"

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
		Due: moment(r.DueAt), Attempt: r.Attempt, Failures: r.Failures, CreatedAt: moment(r.CreatedAt),
	}
}

// Take implements ports.JobQueue. Mostly there is nothing to do: that is found out by a read, which
// on SQLite waits for no writer and holds none up.
func (q *JobQueue) Take(ctx context.Context, now time.Time, leases map[job.Kind]time.Duration, n int) ([]job.Job, error) {
	kinds := slices.Sorted(maps.Keys(leases)) // sorted, so that the statement's text is always the same
	if len(kinds) == 0 {
		return nil, nil
	}
	due, err := q.db.dueJobs(ctx, now, kinds, 1, "")
	if err != nil || len(due) == 0 {
		return nil, err
	}
	var taken []job.Job
	err = q.db.inTx(ctx, func(tx *DB) error {
		taken = nil
		rows, err := tx.dueJobs(ctx, now, kinds, n, tx.dialect.lockFree)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.State == job.Running {
				r.Failures, r.Failure = r.Failures+1, job.Lost
			}
			r.Attempt++
			_, err := tx.exec(ctx, `UPDATE jobs SET state = ?, due_at = ?, attempt = ?, failures = ?, failure = ?, started_at = ? WHERE id = ?`,
				job.Running, micros(now.Add(leases[r.Kind])), r.Attempt, r.Failures, r.Failure, micros(now), r.ID)
			if err != nil {
				return err
			}
			taken = append(taken, r.job())
		}
		return nil
	})
	return taken, err
}

// dueJobs lists what may be taken: queued jobs, unless one of the same kind and subject is running,
// and running ones whose lease has passed.
func (db *DB) dueJobs(ctx context.Context, now time.Time, kinds []job.Kind, n int, lock string) (rows []jobRow, err error) {
	args := []any{micros(now)}
	for _, k := range kinds {
		args = append(args, k)
	}
	err = db.list(ctx, &rows, `
		SELECT t.id, t.kind, t.org_id, t.workspace_id, t.subject, t.state, t.due_at, t.attempt, t.failures, t.failure, t.created_at
		FROM jobs t WHERE t.ended_at = 0 AND t.due_at <= ? AND t.kind IN (?`+strings.Repeat(", ?", len(kinds)-1)+`)
			AND (t.state = ? OR NOT EXISTS (SELECT 1 FROM jobs r WHERE r.workspace_id = t.workspace_id AND r.subject = t.subject
				AND r.kind = t.kind AND r.state = ? AND r.org_id = t.org_id AND r.ended_at = 0))
		ORDER BY t.due_at, t.id LIMIT ?`+lock, append(args, job.Running, job.Running, n)...)
	return rows, err
}

// Settle implements ports.JobQueue.
func (q *JobQueue) Settle(ctx context.Context, j job.Job, o job.Outcome) error {
	return q.db.inTx(ctx, func(tx *DB) error {
		state, endedAt := o.State, o.At
		if o.State == job.Queued {
			// Whatever has been enqueued meanwhile keeps its own attempts.
			merged, err := tx.exec(ctx, `
				UPDATE jobs SET due_at = CASE WHEN due_at < ? THEN due_at ELSE ? END
				WHERE workspace_id = ? AND subject = ? AND kind = ? AND state = ? AND org_id = ? AND ended_at = 0`,
				micros(o.Due), micros(o.Due), j.Workspace, j.Subject, j.Kind, job.Queued, j.Org)
			if err != nil {
				return err
			}
			if merged == 1 {
				state = job.Failed
			} else {
				endedAt = time.Time{}
			}
		}
		settled, err := tx.exec(ctx, `UPDATE jobs SET state = ?, due_at = ?, failures = ?, failure = ?, ended_at = ? WHERE id = ? AND state = ? AND attempt = ?`,
			state, micros(o.Due), o.Failures, o.Failure, micros(endedAt), j.ID, job.Running, j.Attempt)
		if tx.dialect.duplicate(err, jobsIndex) {
			return errRaced // the same was enqueued at this moment: it stands for both
		}
		if err != nil {
			return err
		}
		if settled == 0 {
			return ports.ErrJobLost
		}
		return nil
	})
}

// Backlog is how a queue stands, for people.
type Backlog struct {
	Queued, Running int
	Due             time.Time // since when the first one waits for a worker; zero if none does
	Failed          int       // for good, within the last week
	LastFailed      job.Job
	LastFailure     string // why it failed: a code
	LastFailedAt    time.Time
}

// Backlog looks at the jobs of every org.
func (q *JobQueue) Backlog(ctx context.Context, now time.Time) (Backlog, error) {
	var b Backlog
	var states []struct {
		State job.State `db:"state"`
		Jobs  int       `db:"jobs"`
		Due   int64     `db:"due"`
	}
	if err := q.db.list(ctx, &states, `SELECT state, COUNT(*) AS jobs, MIN(due_at) AS due FROM jobs GROUP BY state`); err != nil {
		return b, err
	}
	for _, s := range states {
		switch s.State {
		case job.Queued:
			if b.Queued = s.Jobs; s.Due <= micros(now) {
				b.Due = moment(s.Due)
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
	found, err := q.db.get(ctx, &last, `
		SELECT id, kind, org_id, workspace_id, subject, state, due_at, attempt, failures, failure, created_at, ended_at
		FROM jobs WHERE state = ? AND ended_at > 0 ORDER BY ended_at DESC LIMIT 1`, job.Failed)
	if found {
		b.LastFailed, b.LastFailure, b.LastFailedAt = last.job(), last.Failure, moment(last.EndedAt)
	}
	return b, err
}
