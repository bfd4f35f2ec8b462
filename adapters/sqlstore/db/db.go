// Package db is the core of the SQL store: connections to SQLite or PostgreSQL, transactions and their events, caches,
// lists, and the file of the database. Statements are written once, in the SQL that both engines understand, with ? for
// arguments; the dialect has the differences. Packages with the stores of an area build on it. It knows none of them.
package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// DB is a database, or one transaction on it.
type DB struct {
	*shared
	Tx        *transaction // nil outside a transaction
	pool      *sqlx.DB     // where statements outside transactions run; nil: reader
	unwatched bool         // statements run with an unwatched context
}

// shared is the state of a database that all its transactions share.
type shared struct {
	Dialect     engine.Dialect
	reader      *sqlx.DB              // for statements outside transactions
	writer      *sqlx.DB              // for transactions; the same pool on PostgreSQL
	credentials *sqlx.DB              // for looking up credentials; nil: reader
	connector   *engine.PoolConnector // connects for writer; nil on SQLite
	groups      *groupCommit          // of transactions; nil on PostgreSQL
	migrations  *goose.Provider
	statements  sync.Map // query → *statement
	changes     *changes
	observed    *observedChanges
	followers   *followers
	Sealer      ports.Sealer
	Principals  ttlCache[CredentialKey, *account.Principal]
	SignIns     ttlCache[SignInKey, *account.Person]
	Sessions    ttlCache[CredentialKey, *session.Person]
	Contents    contents
	Scans       ScanBounds
	checkDisk   func() error // nil: the database was not opened for writing

	derivedSince atomic.Pointer[time.Time]      // see DerivedSince; nil for always
	digest       atomic.Pointer[ports.Digester] // of events; nil: they are not signed
	chainsBegun  atomic.Bool                    // it is stored when chains began
}

type transaction struct {
	*sqlx.Tx
	grouped     bool // it is committed together with others
	Links       bool // it links events, so that its commit leaves no event to link
	afterCommit []func()
	effects     []func()                     // of use cases; they may take seconds, so they run after afterCommit
	members     map[memberKey]account.Member // as stored; see storesMember
	changing    []*changeCount               // the counts of the workspaces that it may change
	readWidely  bool                         // it has run a statement that is readWidely
}

// statement is what is known of a query.
type statement struct {
	bound      string // with the engine's placeholders
	readWidely bool   // it changes tables on which cached responses depend
}

// AfterCommit implements ports.Atomic.
func (db *DB) AfterCommit(effect func()) {
	if db.Tx == nil {
		effect()
		return
	}
	db.Tx.effects = append(db.Tx.effects, effect)
}

// ErrRaced means that another transaction did the same thing first, such as linking a subject. This one must
// run again to see it.
var ErrRaced = errors.New("another transaction was faster")

// maxTries is how often a transaction that loses races is tried. The waits between the tries add up to about a second.
const maxTries = 8

// InTx runs fn in a transaction and commits if fn succeeds; inside a transaction it joins that
// one. It runs fn again if the database says that the transaction lost a race.
func (db *DB) InTx(ctx context.Context, fn func(tx *DB) error) error {
	if db.Tx != nil {
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

func (db *DB) try(ctx context.Context, fn func(*DB) error) error {
	t := &transaction{grouped: db.groups != nil}
	defer db.changes.end(t)
	changes := false
	err := db.transact(ctx, func(tx *sqlx.Tx) error {
		t.Tx = tx
		if err := fn(&DB{shared: db.shared, Tx: t}); err != nil {
			return err
		}
		db.beforeCommit(t)
		changes = len(t.changing) > 0
		return ctx.Err()
	})
	db.changes.end(t) // before anyone learns of the commit
	if err != nil {
		return err
	}
	if changes && !t.Links {
		db.followers.stored()
	}
	for _, f := range slices.Concat(t.afterCommit, t.effects) {
		f()
	}
	return nil
}

// transact runs fn in a transaction of the engine, and commits it.
func (db *DB) transact(ctx context.Context, fn func(*sqlx.Tx) error) error {
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

// uninterrupted returns the context of a statement. If a statement that writes is interrupted, SQLite rolls back the
// whole transaction, and with it the others of the same group. So once it has begun, it runs to its end.
func (t *transaction) uninterrupted(ctx context.Context) context.Context {
	if !t.grouped || ctx.Err() != nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// QueryxContext implements sqlx.QueryerContext.
func (t *transaction) QueryxContext(ctx context.Context, query string, args ...any) (*sqlx.Rows, error) {
	return t.Tx.QueryxContext(t.uninterrupted(ctx), query, args...)
}

// QueryRowxContext implements sqlx.QueryerContext.
func (t *transaction) QueryRowxContext(ctx context.Context, query string, args ...any) *sqlx.Row {
	return t.Tx.QueryRowxContext(t.uninterrupted(ctx), query, args...)
}

// ExecContext implements sqlx.ExecerContext.
func (t *transaction) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.Tx.ExecContext(t.uninterrupted(ctx), query, args...)
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
	return f(&DB{shared: db.shared, Tx: &transaction{Tx: tx}})
}

// IsTransaction reports whether db is a transaction.
func (db *DB) IsTransaction() bool { return db.Tx != nil }

// afterCommit runs f when the transaction has been committed, or now if there is none.
func (db *DB) afterCommit(f func()) {
	if db.Tx == nil {
		f()
		return
	}
	db.Tx.afterCommit = append(db.Tx.afterCommit, f)
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

// WrapErr wraps err: in the context's error if ctx is done, since lib/pq returns SQLSTATE 57014 or a network error for
// a cancelled query, and in ports.ErrUnavailable if err means an outage. It is also ErrUnavailable if ctx ended before
// one of this node's connections was free, because the server accepts no more.
func (db *DB) WrapErr(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case db.connector != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && db.connector.IsLimited():
		return fmt.Errorf("%w: %w", ports.ErrUnavailable, err)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	case db.Dialect.Outage(err):
		return fmt.Errorf("%w: %w", ports.ErrUnavailable, err)
	default:
		return err
	}
}

// q returns where statements run: in the transaction, if there is one.
func (db *DB) q() sqlx.ExtContext {
	switch {
	case db.Tx != nil:
		return db.Tx
	case db.pool != nil:
		return db.pool
	default:
		return db.reader
	}
}

// ForCredentials returns db with the connections that are reserved for looking up credentials: long lists of one caller
// can occupy all other connections, and must not prevent others from signing in. If the reserved connections are busy
// and more than half of the others are free, it returns db with the others.
func (db *DB) ForCredentials() *DB {
	if db.Tx != nil || db.credentials == nil {
		return db
	}
	if stats := db.credentials.Stats(); stats.InUse < stats.MaxOpenConnections {
		return &DB{shared: db.shared, pool: db.credentials, unwatched: true}
	}
	if others := db.reader.Stats(); 2*others.InUse < others.MaxOpenConnections {
		return &DB{shared: db.shared, pool: db.reader, unwatched: true}
	}
	return &DB{shared: db.shared, pool: db.credentials}
}

// unwatched is a context without a Done channel, for a short statement that finds rows by unique keys while there is a
// free connection. To watch the channel, database/sql and the drivers would start two goroutines for each statement
// (ADR 144). Deadlines still hold: a connection to PostgreSQL has its own, and a read of SQLite waits for no writer. If
// others take all free connections at that moment, the statement waits for one of them.
type unwatched struct{ context.Context }

// Done implements context.Context.
func (unwatched) Done() <-chan struct{} { return nil }

// bound returns query with the placeholders of the engine.
func (db *DB) bound(query string) string { return db.statement(query).bound }

// statement returns what is known of a query. The result is cached: parsing a query takes 45 times as long, 3 µs for
// each statement (BenchmarkBound).
func (db *DB) statement(query string) *statement {
	if s, ok := db.statements.Load(query); ok {
		return s.(*statement) //nolint:errcheck // the map holds nothing else
	}
	s := &statement{bound: db.reader.Rebind(query), readWidely: readWidely().MatchString(query)}
	db.statements.Store(query, s) // the queries are constants of this package, so there are few
	return s
}

// Get reads one row into dst, if there is one.
func (db *DB) Get(ctx context.Context, dst any, query string, args ...any) (found bool, err error) {
	err = sqlx.GetContext(db.statementContext(ctx), db.q(), dst, db.bound(query), args...)
	if db.canUseOthers(err) {
		err = sqlx.GetContext(ctx, db.reader, dst, db.bound(query), args...)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, db.WrapErr(ctx, err)
}

// List reads all rows into dst, a pointer to a slice.
func (db *DB) List(ctx context.Context, dst any, query string, args ...any) error {
	err := sqlx.SelectContext(db.statementContext(ctx), db.q(), dst, db.bound(query), args...)
	if db.canUseOthers(err) {
		err = sqlx.SelectContext(ctx, db.reader, dst, db.bound(query), args...)
	}
	return db.WrapErr(ctx, err)
}

// Rows returns the rows of a query whose columns have no type here. The caller closes them.
func (db *DB) Rows(ctx context.Context, query string, args ...any) (*sqlx.Rows, error) {
	rows, err := db.q().QueryxContext(ctx, db.bound(query), args...)
	return rows, db.WrapErr(ctx, err)
}

// statementContext returns the context of a statement outside of a transaction.
func (db *DB) statementContext(ctx context.Context) context.Context {
	if db.unwatched && ctx.Err() == nil {
		return unwatched{ctx}
	}
	return ctx
}

// canUseOthers reports whether a statement that looks up credentials failed because the server accepts no connection
// for it, so that it can run on the other connections.
func (db *DB) canUseOthers(err error) bool {
	return err != nil && db.Tx == nil && db.pool != nil && db.pool == db.credentials && engine.IsFull(err)
}

// Exec runs a statement and returns how many rows it changed. Outside of a transaction, the statement is its own
// transaction.
func (db *DB) Exec(ctx context.Context, query string, args ...any) (count int64, err error) {
	if db.Tx == nil {
		err = db.InTx(ctx, func(tx *DB) (err error) {
			count, err = tx.Exec(ctx, query, args...)
			return err
		})
		return count, err
	}
	s := db.statement(query)
	db.Tx.readWidely = db.Tx.readWidely || s.readWidely
	result, err := db.Tx.ExecContext(ctx, s.bound, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Clock returns the time by the clock of PostgreSQL; zero on SQLite, which uses the clock of this machine.
func (db *DB) Clock(ctx context.Context) (time.Time, error) {
	if db.Dialect.Clock == "" {
		return time.Time{}, nil
	}
	var micros int64
	_, err := db.Get(ctx, &micros, db.Dialect.Clock)
	return FromMicros(micros), err
}

// Micros returns a time as both engines store it: microseconds since 1970 in UTC, 0 for none.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// FromMicros returns the time that micros encoded.
func FromMicros(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
