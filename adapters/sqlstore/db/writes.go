package db

import (
	"context"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Write is a statement that changes rows, with its arguments.
type Write struct {
	Query string
	Args  []any
}

// Run runs writes to different rows in a transaction. PostgreSQL gets them as one statement, so that the locks
// that they take are held for one round trip. There no write sees the effects of the others.
func (db *DB) Run(ctx context.Context, writes ...Write) error {
	if db.Dialect.Joinable && len(writes) > 1 {
		writes = []Write{joined(writes)}
	}
	for _, w := range writes {
		if _, err := db.Exec(ctx, w.Query, w.Args...); err != nil {
			return err
		}
	}
	return nil
}

// joined returns one statement that does all writes: the last one, with the others in its WITH clause
// (PostgreSQL manual, 7.8.4).
func joined(writes []Write) Write {
	var query strings.Builder
	var args []any
	last := len(writes) - 1
	for i, w := range writes {
		switch {
		case i == last:
			query.WriteString(") " + w.Query)
		case i == 0:
			query.WriteString("WITH w0 AS (" + w.Query)
		default:
			query.WriteString("), w" + strconv.Itoa(i) + " AS (" + w.Query)
		}
		args = append(args, w.Args...)
	}
	return Write{query.String(), args}
}

// UsesAtOnce limits the uses of credentials that one transaction records, so that other writers do not wait for long.
const UsesAtOnce = 500

// writtenAtOnce is the maximum number of rows that one statement of WriteRows writes, a power of two.
const writtenAtOnce = 64

// WriteRows writes rows in a transaction. A statement is begin, which ends with the values of one row, the values of
// more rows, and end. The number of rows in one statement is a power of two, so that few statements differ.
func (db *DB) WriteRows(ctx context.Context, begin, end string, rows [][]any) error {
	for len(rows) > 0 {
		n := min(1<<(bits.Len(uint(len(rows)))-1), writtenAtOnce)
		values := ", (" + Placeholders(len(rows[0])) + ")"
		query := begin + strings.Repeat(values, n-1) + end
		if _, err := db.Exec(ctx, query, slices.Concat(rows[:n]...)...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}
