package ports

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Jobs queues background work. In a transaction's stores, a job is queued or cancelled only if the transaction commits.
//
// A job is queued until a worker takes it, and while it waits for its next attempt. Two jobs of one kind about one
// workspace subject do not run at the same time.
type Jobs interface {
	// Enqueue queues j. At most one job per kind and subject is queued. If there is one already, it
	// keeps its identifier, becomes due at the earlier of both times, and its count of failed attempts
	// is reset. (The earlier time, so that scheduled work cannot delay work that is wanted now. To
	// postpone a job, cancel it first.) A running job does not count as queued: work that is enqueued
	// in the meantime runs after it, because the running job may have read too early.
	Enqueue(ctx context.Context, j job.Job) error

	// Cancel removes the queued jobs of every kind about subject, and returns how many there were. A
	// running job continues: its handler must check whether the subject has changed.
	Cancel(ctx context.Context, ws identity.WorkspaceID, subject string) (count int, err error)

	// History lists the jobs of every kind about subject, newest first: those that are queued or
	// running, and those that ended within the last week. It omits cancelled jobs.
	History(ctx context.Context, ws identity.WorkspaceID, subject string, q page.Query) (page.Of[job.Entry], error)
}

// ErrJobLost is returned to a worker that no longer holds a job's lease.
var ErrJobLost = errors.New("another worker has taken the job over")

// JobQueue hands queued jobs to workers. A worker serves every org.
type JobQueue interface {
	// Take returns at most n jobs that are due at now, only of some kinds: other kinds are left to a worker
	// that knows them. Workspaces take turns: first those with the fewest running jobs, then those that have started
	// none for the longest time. No workspace has more than job.PerWorkspace jobs running over all nodes. Within a
	// workspace, urgent jobs come first (job.Kind.Urgent), then those that have been due longest. After a job is
	// postponed, its workspace starts only urgent jobs until the postponed job is due. An org's jobs that have no
	// workspace count as the jobs of one workspace.
	//
	// No other worker gets the job until the lease has passed. If it has not been settled by the
	// end of the lease, its worker is considered dead: the attempt has failed (job.Lost), and Take
	// returns the job again, with its failures, even if they exhaust it.
	Take(ctx context.Context, now time.Time, lease time.Duration, kinds []job.Kind, n int) ([]job.Job, error)

	// Release ends the leases of all running jobs at now, because their workers are known to be dead.
	Release(ctx context.Context, now time.Time) error

	// Renew extends the lease of the attempt for which j was taken until a time. ErrJobLost if the lease has passed
	// and another worker has taken the job, or if the attempt was settled.
	Renew(ctx context.Context, j job.Job, end time.Time) error

	// Settle ends the attempt for which j was taken. Call it once for each attempt. ErrJobLost if the
	// lease has passed and another worker has taken the job. If o asks for another attempt while a job
	// of the same kind and subject is queued, the queued job replaces it, as in Jobs.Enqueue: j has
	// then failed, or is deleted if it was only postponed.
	Settle(ctx context.Context, j job.Job, o job.Outcome) error
}
