package db

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jmoiron/sqlx"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
	"github.com/atrium-hq/atrium/domain/identity"
)

// maxTries is how often a transaction that loses races is tried. The waits between the tries add up to about a second.
const maxTries = 8

// InTx runs fn in a transaction and commits if fn succeeds; inside a transaction it joins that
// one. It runs fn again if the transaction lost a race.
func (db *DB) InTx(ctx context.Context, fn func(tx *DB) error) error {
	if db.tx != nil {
		return fn(db)
	}
	waits := &backoff.ExponentialBackOff{
		InitialInterval: 25 * time.Millisecond, RandomizationFactor: 1, Multiplier: 1.5,
		MaxInterval: 250 * time.Millisecond,
	}
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := db.try(ctx, fn)
		if err != nil && !db.Dialect.Retry(err) && !errors.Is(err, ErrRaced) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(waits), backoff.WithMaxTries(maxTries), backoff.WithMaxElapsedTime(0))
	return db.WrapErr(ctx, err)
}

// Try runs fn in db, a transaction, and undoes what it changed if it fails. Outside of one it is InTx.
func (db *DB) Try(ctx context.Context, fn func(tx *DB) error) error {
	if db.tx == nil {
		return db.InTx(ctx, fn)
	}
	if _, err := db.tx.ExecContext(ctx, `SAVEPOINT attempt`); err != nil {
		return db.WrapErr(ctx, err)
	}
	followers, effects := len(db.tx.afterCommit), len(db.tx.effects)
	err := fn(db)
	if err != nil {
		db.tx.afterCommit, db.tx.effects = db.tx.afterCommit[:followers], db.tx.effects[:effects]
		clear(db.tx.members)
		if _, failure := db.tx.ExecContext(ctx, `ROLLBACK TO SAVEPOINT attempt`); failure != nil {
			return errors.Join(err, db.WrapErr(ctx, failure))
		}
	}
	// A rollback keeps the savepoint, and a later rollback of an outer attempt would end at it.
	if _, failure := db.tx.ExecContext(ctx, `RELEASE SAVEPOINT attempt`); failure != nil {
		return errors.Join(err, db.WrapErr(ctx, failure))
	}
	return err
}

// try runs fn in one transaction. Caches learn what it changes before the commit, and its effects run after it.
func (db *DB) try(ctx context.Context, fn func(*DB) error) error {
	t := &transaction{}
	defer t.changes.end()
	isChange := false
	err := db.transact(ctx, func(tx sqlx.ExtContext) error {
		t.ExtContext = tx
		if err := fn(&DB{shared: db.shared, tx: t}); err != nil {
			return err
		}
		if t.readWidely && len(t.changes) == 0 { // it has not declared what it changes
			t.changes.begin(&db.changes.all)
		}
		isChange = len(t.changes) > 0
		return ctx.Err()
	})
	t.changes.end() // before anyone learns of the commit
	if err != nil {
		return err
	}
	if isChange && !t.links {
		db.followers.stored()
	}
	for _, f := range slices.Concat(t.afterCommit, t.effects) {
		f()
	}
	return nil
}

// transact runs fn in a transaction of the engine, and commits it.
func (db *DB) transact(ctx context.Context, fn func(sqlx.ExtContext) error) error {
	if db.groups != nil {
		return db.groups.run(ctx, fn)
	}
	tx, err := db.writer.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no-op after Commit
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Snapshot calls f with a consistent snapshot of the database.
func (db *DB) Snapshot(ctx context.Context, f func(*DB) error) error {
	options := &sql.TxOptions{ReadOnly: true}
	if db.Dialect.Name == engine.Postgres.Name { // SQLite's transactions are snapshots anyway
		options.Isolation = sql.LevelRepeatableRead
	}
	tx, err := db.reader.BeginTxx(ctx, options)
	if err != nil {
		return db.WrapErr(ctx, err)
	}
	defer func() { _ = tx.Rollback() }() // it only read
	return f(&DB{shared: db.shared, tx: &transaction{ExtContext: tx}})
}

// Exec runs a statement and returns how many rows it changed. Outside of a transaction, the statement is its own
// transaction.
func (db *DB) Exec(ctx context.Context, query string, args ...any) (count int64, err error) {
	if db.tx == nil {
		err = db.InTx(ctx, func(tx *DB) (err error) {
			count, err = tx.Exec(ctx, query, args...)
			return err
		})
		return count, err
	}
	s := db.statement(query)
	db.tx.readWidely = db.tx.readWidely || s.readWidely
	result, err := db.tx.ExecContext(ctx, s.bound, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// AfterCommit implements ports.Atomic.
func (db *DB) AfterCommit(effect func()) {
	if db.tx == nil {
		effect()
		return
	}
	db.tx.effects = append(db.tx.effects, effect)
}

// afterCommit runs f after the commit, or now outside of a transaction.
func (db *DB) afterCommit(f func()) {
	if db.tx == nil {
		f()
		return
	}
	db.tx.afterCommit = append(db.tx.afterCommit, f)
}

// DeclareChange notes that the transaction changes a workspace. Recording an event calls it, which nearly every change
// does. Changes that may record no event call it themselves: updates from the payment gateway, and usage reports. So
// does an update that finds nothing to change. It returns what it has read, which another process may have written;
// later reads of this process must not return anything older.
func (db *DB) DeclareChange(ws identity.WorkspaceID) {
	if db.tx != nil && ws != "" {
		db.tx.changes.begin(db.changes.counter(ws))
	}
}

// DeclareWideChange notes that the transaction changes people or their credentials, which can affect every workspace.
func (db *DB) DeclareWideChange() {
	if db.tx == nil {
		db.changes.all.ended.Add(1)
		return
	}
	db.tx.changes.begin(&db.changes.all)
}

// Forget clears the caches of credentials when the transaction has been committed, so that the next
// requests read them from the database.
func (db *DB) Forget() {
	db.DeclareWideChange()
	db.afterCommit(func() {
		db.Principals.forget()
		db.SignIns.forget()
		db.Sessions.forget()
	})
}
