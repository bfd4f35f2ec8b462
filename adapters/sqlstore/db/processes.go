package db

import (
	"context"
	"database/sql/driver"
	"sync/atomic"
	"time"
)

const (
	// lookValidFor is how long after a look at SQLite's data version what this process knows of others counts as
	// current.
	lookValidFor = 100 * time.Millisecond

	// lookEvery is the age of the last look at which a read looks again: younger than lookValidFor, so that the reads
	// that arrive during a look need not query the database.
	lookEvery = 50 * time.Millisecond

	// lookTimeout is how long a look waits for the connection, which a VACUUM can occupy.
	lookTimeout = 10 * time.Millisecond
)

// otherProcesses finds out whether another process has committed anything to a database of SQLite. It asks the
// connection through which this process writes: the data version of a connection changes with every commit through any
// other one (https://www.sqlite.org/pragma.html#pragma_data_version), and this process commits through no other one.
// Reads ask it, so it costs nothing while there are none.
type otherProcesses struct {
	groups    *groupCommit
	changed   func()
	connected atomic.Int64 // how many connections have been opened for writing
	begun     time.Time
	lookedAt  atomic.Int64 // when the last look began, after begun; 0 for never
	due       atomic.Int64 // when the next read looks
	wanted    atomic.Bool  // a read wanted to look while the connection was in use

	last dataVersion // guarded by the slot of groups
}

// dataVersion can be compared only with one of the same connection.
type dataVersion struct {
	connection, version int64
}

// isCurrent reports whether every commit of another process that is older than lookValidFor has been counted as a
// change.
func (o *otherProcesses) isCurrent() bool {
	elapsed := time.Since(o.begun)
	if due := o.due.Load(); int64(elapsed) >= due && o.due.CompareAndSwap(due, int64(elapsed+lookEvery)) {
		o.lookOrLeave()
	}
	lookedAt := o.lookedAt.Load()
	return lookedAt > 0 && elapsed-time.Duration(lookedAt) < lookValidFor
}

// lookOrLeave looks, if the connection is not in use. Otherwise the transactions that use it do so at their end.
func (o *otherProcesses) lookOrLeave() {
	select {
	case o.groups.slot <- struct{}{}:
		if o.wanted.Store(true); o.groups.open == nil {
			o.look()
		}
		<-o.groups.slot
	default:
		o.wanted.Store(true)
	}
}

// look compares the data version with the last one. A look that fails has not happened: reads query the database then.
// The caller holds the slot of groups, without an open group.
func (o *otherProcesses) look() {
	o.wanted.Store(false)
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	conn, err := o.groups.db.Conn(ctx)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	elapsed := time.Since(o.begun)
	var version int64
	// Not by ctx: SQLite gives up a connection of which a statement was interrupted.
	if err := conn.QueryRowContext(context.WithoutCancel(ctx), `PRAGMA data_version`).Scan(&version); err != nil {
		return
	}
	current := dataVersion{o.connected.Load(), version}
	if current != o.last {
		o.changed()
	}
	o.last = current
	o.lookedAt.Store(max(int64(elapsed), 1))
}

// countedConnector counts connections.
type countedConnector struct {
	driver.Connector
	opened *atomic.Int64
}

// Connect implements driver.Connector.
func (c countedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	c.opened.Add(1)
	return c.Connector.Connect(ctx)
}
