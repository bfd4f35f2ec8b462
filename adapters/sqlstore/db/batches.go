package db

import (
	"context"
	"time"
)

// SweepBatch is the most rows that one statement of the sweep removes or changes, and each such statement is its own
// transaction: SQLite's writer waits for some milliseconds, and statement_timeout is far away.
const SweepBatch = 200

// RestoreMargin is how much longer than it can be restored a deleted object is kept: the clocks of nodes differ, and a
// restore that began in time may be stored later. What belongs to the object is removed before it, in transactions of
// their own.
const RestoreMargin = time.Hour

// InvitationsKept is the time for which an invitation is kept after its link has expired.
const InvitationsKept = 30 * 24 * time.Hour

// InBatches runs a statement until it changes nothing. The last argument of the statement is the most rows that it
// changes.
func (db *DB) InBatches(ctx context.Context, query string, args ...any) error {
	for {
		if changed, err := db.Exec(ctx, query, append(args, SweepBatch)...); changed == 0 || err != nil {
			return err
		}
	}
}
