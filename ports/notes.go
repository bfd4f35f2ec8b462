package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/event"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Notes adds events that changed no aggregate to the audit trail, outside any transaction.
type Notes interface {
	// Note writes the events of n, unless n has none or an equal note was written that is valid as
	// long: of several equal notes, also on several nodes at the same time, one is written. Repeating a
	// note costs no database access. Note returns no error, because what happened cannot be undone: a failure
	// is logged, and the next equal note is written, at the earliest a minute later. A note is written even if
	// ctx is cancelled.
	Note(ctx context.Context, n event.Note)
}
