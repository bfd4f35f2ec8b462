package db

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/ports"
)

// Area is an area's part of the work that concerns all areas, such as the sweep. Package sqlstore composes them.
type Area struct {
	Name string // for errors

	// AddStores adds the area's stores on a database or transaction; nil if it has none.
	AddStores func(*ports.Stores, *DB)

	// Tables have rows that are removed together with a row of another table, in the order of their removal.
	Tables []Table

	// Expiries are the rows that the sweep removes.
	Expiries []Expiry

	// Sweep does what else the area needs at each sweep, after its rows have expired; nil for nothing. Events are kept
	// for a time.
	Sweep func(ctx context.Context, d *DB, now time.Time, eventsKept time.Duration) error

	// Exports select what the area stores about a person, and Erasures remove it. Redact removes the person from the
	// records that stay; nil if the area has none.
	Exports  []Section
	Erasures []Erasure
	Redact   Redact

	// Reseal seals the area's secrets again; nil if it has none that the keyring seals.
	Reseal func(context.Context, *DB, *Resealing) error
}

// Enqueue queues a job in a database or transaction; see ports.Jobs.Enqueue. The area of jobs has the only one.
type Enqueue func(ctx context.Context, d *DB, j job.Job) error

// Table is a table whose rows are removed together with the row that they belong to. The database would do that in one
// statement (ON DELETE CASCADE), however many there are.
type Table struct {
	Name, Key string // the primary key: one column if rows of other tables belong to the table's rows
	Of        string // the table of the row that they belong to
	Owner     string // the column that names that row, after what an index of it requires
}

// Expiry is a kind of rows that the sweep removes.
type Expiry struct {
	Table, Key string        // as in Table
	Condition  string        // on a column and the time before which rows are removed
	Kept       time.Duration // how long they are kept after the time in the column
}
