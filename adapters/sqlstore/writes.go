package sqlstore

import (
	"context"
	"strconv"
	"strings"
)

// write is a statement that changes rows, with its arguments.
type write struct {
	query string
	args  []any
}

// run runs writes to different rows in a transaction. PostgreSQL gets them as one statement, so that the locks
// that they take are held for one round trip. There no write sees the effects of the others.
func (db *DB) run(ctx context.Context, writes ...write) error {
	if db.dialect.Joinable && len(writes) > 1 {
		writes = []write{joined(writes)}
	}
	for _, w := range writes {
		if _, err := db.exec(ctx, w.query, w.args...); err != nil {
			return err
		}
	}
	return nil
}

// joined returns one statement that does all writes: the last one, with the others in its WITH clause
// (PostgreSQL manual, 7.8.4).
func joined(writes []write) write {
	var query strings.Builder
	var args []any
	last := len(writes) - 1
	for i, w := range writes {
		switch {
		case i == last:
			query.WriteString(") " + w.query)
		case i == 0:
			query.WriteString("WITH w0 AS (" + w.query)
		default:
			query.WriteString("), w" + strconv.Itoa(i) + " AS (" + w.query)
		}
		args = append(args, w.args...)
	}
	return write{query.String(), args}
}
