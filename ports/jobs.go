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

// Jobs queues work that no caller waits for. In the stores of a transaction, a job is queued, or
// cancelled, exactly if the transaction commits.
//
// A job is queued until a worker takes it, and again while it waits for its next attempt. Two jobs
// of one kind about one subject of a workspace do not run at the same time.
type Jobs interface {
	// Enqueue queues j. Of one kind and subject at most one job is queued: if there is one
	// already, it stays with its identifier, becomes due at the earlier of both times, and its
	// attempts begin anew. (The earlier time, so that work which is wanted now cannot be put off
	// by what comes by itself later. To put it off, cancel it first.) A job that is running is not
	// queued: work that is enqueued meanwhile runs after it, since it may have read too early.
	Enqueue(ctx context.Context, j job.Job) error

	// Cancel takes the queued jobs about subject out of the queue, of whatever kind, and answers
	// how many they were. A job that is running goes on: whoever carries it out asks whether its
	// subject still is as it was.
	Cancel(ctx context.Context, ws identity.WorkspaceID, subject string) (cancelled int, err error)

	// History lists the jobs about subject, of whatever kind, newest first: those that are queued or
	// running, and those that ended within the last week. Cancelled ones are not among them.
	History(ctx context.Context, ws identity.WorkspaceID, subject string, q page.Query) (page.Of[job.Entry], error)
}

// ErrJobLost says that a job is not, or not any more, the caller's to settle.
var ErrJobLost = errors.New("another worker has taken the job over")

// JobQueue hands queued jobs to workers. A worker serves every org.
type JobQueue interface {
	// Take hands out at most n jobs that are due at now, and only of the kinds that leases names: what this
	// program does not know stays for one that does. Workspaces take turns: first come those with the fewest
	// running jobs, then those that began none for the longest; none has more than job.PerWorkspace running
	// over all nodes. Of one workspace's jobs, urgent ones come first (job.Kind.Urgent), then those that have
	// been due longest. After a job was postponed, its workspace begins only urgent ones until that one is due.
	// The jobs of an org that have no workspace count as those of one.
	//
	// A job is handed to no other worker until its kind's lease has passed. If it has not been settled by
	// that time, its worker is considered dead: the attempt has failed (job.Lost), and the job is handed out
	// again, with its failures, even if they exhaust it.
	Take(ctx context.Context, now time.Time, leases map[job.Kind]time.Duration, n int) ([]job.Job, error)

	// Settle ends the attempt in which j was taken, and is called once for each. ErrJobLost if the
	// lease has passed and somebody else has it, or had it. If o wants another attempt while a job
	// of the same kind and subject is queued, that one stands for both, as in Jobs.Enqueue, and j
	// has failed, or is gone if it was only postponed.
	Settle(ctx context.Context, j job.Job, o job.Outcome) error
}
