// Package db is the core of the SQL store: connections to SQLite or PostgreSQL, transactions and their events, caches,
// lists, and the file of the database. Statements are written once, in the SQL that both engines understand, with ? for
// arguments; the dialect has the differences. Packages with the stores of an area build on it. It knows none of them.
package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// DB is a database, or one transaction on it.
type DB struct {
	*shared
	tx        *transaction // nil outside a transaction
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

// ScanBounds are the most rows that one page of a list examines where no index serves its filter. A page
// that reaches its bound ends there, with a position after which the next one begins.
type ScanBounds struct {
	Templates int // wide rows, and a text that is searched
	Keys      int
	Presences int
	Events    int // two or more filters at once
}

// defaultScans keep a page of any list within some ten milliseconds.
var defaultScans = ScanBounds{Templates: 1000, Keys: 2000, Presences: 10_000, Events: 2000}

type transaction struct {
	sqlx.ExtContext
	links       bool // it links events, so that its commit leaves no event to link
	afterCommit []func()
	effects     []func()                     // of use cases; they may take seconds, so they run after afterCommit
	members     map[memberKey]account.Member // as stored; see IsMemberStored
	changes     pendingChanges               // of workspaces
	readWidely  bool                         // it has run a statement that is readWidely
}

// memberKey identifies a membership.
type memberKey struct {
	workspace identity.WorkspaceID
	user      identity.UserID
}

// statement is a query that has been parsed.
type statement struct {
	bound      string // with the engine's placeholders
	readWidely bool   // it changes tables on which cached responses depend
}

// IsTransaction reports whether db is a transaction.
func (db *DB) IsTransaction() bool { return db.tx != nil }

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

// q returns the transaction, or outside of one the pool, in which statements run.
func (db *DB) q() sqlx.ExtContext {
	switch {
	case db.tx != nil:
		return db.tx
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
	if db.tx != nil || db.credentials == nil {
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

// bound returns query with the placeholders of the engine.
func (db *DB) bound(query string) string { return db.statement(query).bound }

// statement parses a query, and caches the result: parsing takes 45 times as long, 3 µs for each statement.
func (db *DB) statement(query string) *statement {
	if s, ok := db.statements.Load(query); ok {
		return s.(*statement) //nolint:errcheck // the map holds nothing else
	}
	s := &statement{bound: db.reader.Rebind(query), readWidely: readWidely().MatchString(query)}
	db.statements.Store(query, s) // the queries are constants of this package, so there are few
	return s
}

// Get reads one row into dst, and reports whether it found one.
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
	return err != nil && db.tx == nil && db.pool != nil && db.pool == db.credentials && engine.IsFull(err)
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

// Micros returns a time as both engines store it: microseconds since 1970 in UTC, 0 for the zero time.
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

// Engine names the database for people: sqlite or postgres.
func (db *DB) Engine() string { return db.Dialect.Name }
