package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
)

const (
	maxGroupAge  = 2 * time.Millisecond // since the work of its first transaction; no transaction joins an older group
	maxGroupSize = 64                   // transactions
)

// errGroupLost means that SQLite has rolled back a whole group, for example because the disk was full. Its transactions
// run again.
var errGroupLost = fmt.Errorf("%w: the transactions that were to be committed together were rolled back", ErrRaced)

// groupCommit runs transactions on SQLite's only writer. It commits transactions together that would otherwise wait for
// each other's commits, which mostly wait for the disk. Each is a savepoint in one transaction of SQLite, so that its
// failure undoes nothing of the others. run returns when the group is committed.
type groupCommit struct {
	db      *sqlx.DB
	slot    chan struct{} // held by the goroutine that uses the connection; the first to wait gets it first
	waiting atomic.Int64  // those that have not begun and wait for the slot
	open    *group        // not committed yet; guarded by slot
	opened  *atomic.Int64 // the number of connections that db has opened
	maxAge  time.Duration // maxGroupAge, except in tests
}

// group is the transactions that are committed together.
type group struct {
	tx      *sqlx.Tx
	since   time.Time     // when the first one had done its work
	members int           // how many have done their work
	done    chan struct{} // closed at the end
	err     error         // of the commit; set before done is closed
}

// newGroupCommit returns a groupCommit on the connections that pool opens through the connector.
func newGroupCommit(connector driver.Connector, open OpenPool) *groupCommit {
	counted := countedConnector{connector, new(atomic.Int64)}
	pool := open(counted)
	pool.SetMaxOpenConns(1) // SQLite has one writer; waiting here is fair, its own busy loop is not
	return &groupCommit{
		db: sqlx.NewDb(pool, "sqlite"), slot: make(chan struct{}, 1), opened: counted.opened, maxAge: maxGroupAge,
	}
}

// run runs fn in a transaction, and returns when it is committed. ctx can only end the wait for its turn, not the
// transaction.
func (c *groupCommit) run(ctx context.Context, fn func(sqlx.ExtContext) error) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	g, err := c.work(context.WithoutCancel(ctx), fn)
	if err == nil && c.waiting.Load() == 0 {
		c.commit()
	}
	<-c.slot
	if err != nil {
		return err
	}
	select {
	case <-g.done:
	case c.slot <- struct{}{}: // those that waited have done their work, or have given up
		if c.open == g {
			c.commit()
		}
		<-c.slot
	}
	return g.err
}

// take waits for the slot, or until ctx is done.
func (c *groupCommit) take(ctx context.Context) error {
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	select {
	case c.slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work runs fn as a member of the open group, or of a new one. The caller holds the slot. A panic of fn frees it.
func (c *groupCommit) work(ctx context.Context, fn func(sqlx.ExtContext) error) (g *group, err error) {
	isDone := false
	defer func() {
		if !isDone && err == nil { // fn has panicked
			c.undo(ctx)
			<-c.slot
		}
	}()
	if err := c.join(ctx); err != nil {
		isDone = true
		return nil, err
	}
	err = fn(uninterrupted{c.open.tx})
	if err == nil && c.open.members > 0 {
		_, err = c.open.tx.ExecContext(ctx, `RELEASE member`)
	}
	isDone = true
	if err != nil {
		c.undo(ctx)
		return nil, err
	}
	if c.open.members++; c.open.members == 1 {
		c.open.since = time.Now()
	}
	return c.open, nil
}

// join begins a group, or a savepoint in the open group.
func (c *groupCommit) join(ctx context.Context) error {
	if c.open != nil && (time.Since(c.open.since) > c.maxAge || c.open.members >= maxGroupSize) {
		c.commit()
	}
	if c.open != nil {
		_, err := c.open.tx.ExecContext(ctx, `SAVEPOINT member`)
		return err
	}
	tx, err := c.db.BeginTxx(ctx, nil)
	if err == nil {
		c.open = &group{tx: tx, done: make(chan struct{})}
	}
	return err
}

// undo undoes the work of the member that holds the slot.
func (c *groupCommit) undo(ctx context.Context) {
	if c.open.members > 0 {
		_, err := c.open.tx.ExecContext(ctx, `ROLLBACK TO member`)
		if err == nil {
			_, err = c.open.tx.ExecContext(ctx, `RELEASE member`)
		}
		if err == nil {
			return
		}
	}
	c.end(errors.Join(errGroupLost, c.open.tx.Rollback()))
}

// commit commits the open group. The caller holds the slot.
func (c *groupCommit) commit() { c.end(c.open.tx.Commit()) }

func (c *groupCommit) end(err error) {
	c.open.err = err
	close(c.open.done)
	c.open = nil
}

// uninterrupted is a transaction whose statements run to their end once they have begun. If a statement that writes is
// interrupted, SQLite rolls back the whole transaction, and with it the others of the same group.
type uninterrupted struct{ *sqlx.Tx }

// context returns the context of a statement.
func (uninterrupted) context(ctx context.Context) context.Context {
	if ctx.Err() != nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// QueryxContext implements sqlx.QueryerContext.
func (t uninterrupted) QueryxContext(ctx context.Context, query string, args ...any) (*sqlx.Rows, error) {
	return t.Tx.QueryxContext(t.context(ctx), query, args...)
}

// QueryRowxContext implements sqlx.QueryerContext.
func (t uninterrupted) QueryRowxContext(ctx context.Context, query string, args ...any) *sqlx.Row {
	return t.Tx.QueryRowxContext(t.context(ctx), query, args...)
}

// ExecContext implements sqlx.ExecerContext.
func (t uninterrupted) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.Tx.ExecContext(t.context(ctx), query, args...)
}

// dataVersion returns a string that changes when another process commits. It asks the connection through which this
// process writes: a connection's data version changes with every commit through another connection
// (https://www.sqlite.org/pragma.html#pragma_data_version), and this process commits through no other one. Versions of
// two connections cannot be compared, so the string also names the connection.
func (c *groupCommit) dataVersion(ctx context.Context) (string, error) {
	if err := c.take(ctx); err != nil {
		return "", err
	}
	defer func() { <-c.slot }()
	if c.open != nil {
		c.commit()
	}
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	var version int64
	// Not by ctx: SQLite gives up a connection of which a statement was interrupted.
	err = conn.QueryRowContext(context.WithoutCancel(ctx), `PRAGMA data_version`).Scan(&version)
	return fmt.Sprint(c.opened.Load(), " ", version), err
}

// countedConnector counts the connections that it opens.
type countedConnector struct {
	driver.Connector
	opened *atomic.Int64
}

// Connect implements driver.Connector.
func (c countedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	c.opened.Add(1)
	return c.Connector.Connect(ctx)
}
