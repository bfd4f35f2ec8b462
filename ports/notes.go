package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/event"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Notes adds events that changed no aggregate to the audit trail, outside any transaction.
type Notes interface {
	// Note writes the events of n, unless n has none or an equal note was written that is valid as
	// long: of several equal notes, also on several nodes at the same time, one is written. To repeat a note
	// costs no database access. Note has no error: what happened has happened, and a failure is logged
	// instead. It is tried again with the next equal note, at the earliest a minute later. The end of ctx
	// does not keep a note from being written.
	Note(ctx context.Context, n event.Note)
}
