package db

import "context"

// SweepBatch is the most rows that one statement of the sweep removes or changes, and each such statement is its own
// transaction: SQLite's writer waits for some milliseconds, and statement_timeout is far away.
const SweepBatch = 200

// InBatches runs a statement until it changes nothing. The last argument of the statement is the most rows that it
// changes.
func (db *DB) InBatches(ctx context.Context, query string, args ...any) error {
	for {
		if changed, err := db.Exec(ctx, query, append(args, SweepBatch)...); changed == 0 || err != nil {
			return err
		}
	}
}
