package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
)

const (
	groupFor  = 2 * time.Millisecond // after its first transaction has done its work, no other joins a group any more
	groupMost = 64                   // transactions in a group
)

// errGroupLost means that SQLite has rolled back a whole group, for example because the disk was full: those that had
// done their work run again.
var errGroupLost = fmt.Errorf("%w: the transactions that were to be committed together were rolled back", errRaced)

// groupCommit runs transactions of SQLite's one writer, and commits those together that would otherwise wait for each
// other's commit, which is mostly a wait for the disk. Each is a savepoint of one transaction of SQLite, so that a
// failure undoes nothing of the others. A transaction is told of its success when the group is committed.
type groupCommit struct {
	db      *sqlx.DB
	slot    chan struct{} // held by the one that uses the connection; in the order of waiting
	waiting atomic.Int64  // transactions that wait for the slot before they begin
	open    *group        // not committed yet; guarded by slot
	others  *otherProcesses
	age     time.Duration // groupFor
}

// group is the transactions that are committed together.
type group struct {
	tx      *sqlx.Tx
	since   time.Time     // when the first one had done its work
	members int           // that have done their work
	done    chan struct{} // closed at the end
	err     error         // of the commit; set before done is closed
}

// newGroupCommit returns one for the connection of db, which others counts.
func newGroupCommit(db *sqlx.DB, others *otherProcesses) *groupCommit {
	others.groups = &groupCommit{db: db, slot: make(chan struct{}, 1), age: groupFor, others: others}
	return others.groups
}

// run runs fn in a transaction and returns once it is committed. While it waits for its turn it heeds ctx; afterwards
// it does not.
func (c *groupCommit) run(ctx context.Context, fn func(*sqlx.Tx) error) error {
	c.waiting.Add(1)
	select {
	case c.slot <- struct{}{}:
		c.waiting.Add(-1)
	case <-ctx.Done():
		c.waiting.Add(-1)
		return ctx.Err()
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
	case c.slot <- struct{}{}: // those that had been waiting have done their work, or have gone
		if c.open == g {
			c.commit()
		}
		<-c.slot
	}
	return g.err
}

// work runs fn as one of the open group, or of a new one. The caller holds the slot, which is free after a panic.
func (c *groupCommit) work(ctx context.Context, fn func(*sqlx.Tx) error) (g *group, err error) {
	worked := false
	defer func() {
		if !worked && err == nil { // it panics
			c.undo(ctx)
			<-c.slot
		}
	}()
	if err := c.join(ctx); err != nil {
		worked = true
		return nil, err
	}
	err = fn(c.open.tx)
	if err == nil && c.open.members > 0 {
		_, err = c.open.tx.ExecContext(ctx, `RELEASE member`)
	}
	worked = true
	if err != nil {
		c.undo(ctx)
		return nil, err
	}
	if c.open.members++; c.open.members == 1 {
		c.open.since = time.Now()
	}
	return c.open, nil
}

// join begins a group, or a savepoint in the one that is open.
func (c *groupCommit) join(ctx context.Context) error {
	if c.open != nil && (time.Since(c.open.since) > c.age || c.open.members >= groupMost) {
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

// undo undoes what the one that holds the slot has done.
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
	if c.others.wanted.Load() {
		c.others.look()
	}
}
