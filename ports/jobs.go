package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
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
}
