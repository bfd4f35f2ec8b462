// Package engine connects to the two databases, and knows their differences: connections to PostgreSQL with deadlines
// and a byte budget, statements that are prepared once for each connection, and the dialects.
package engine

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/lib/pq"
	"github.com/pressly/goose/v3"
	sqlite3 "modernc.org/sqlite/lib"
)

// Dialect has all differences between the databases, apart from their migrations. Errors are classified by their
// codes, never by their messages.
type Dialect struct {
	Name      string
	Goose     goose.Dialect
	Lock      string                             // suffix of a SELECT whose row is about to change
	LockFree  string                             // suffix that leaves out rows that another transaction changes
	Joinable  bool                               // several writes can be one statement
	TryLock   string                             // locks a string until the transaction ends; empty: one writer
	Retry     func(error) bool                   // the transaction lost a race and may run again
	Duplicate func(err error, index string) bool // the row breaks this unique index; SQLite does not name it
	Migrated  string                             // counts the table of Goose: 0 if no migration was ever applied
	Outage    func(error) bool                   // the database cannot be reached, or not now
	// Clock selects the time by the clock of the server, in microseconds since 1970; empty: it has none.
	Clock string
	// Now is an expression for the time by the clock of the server, on SQLite of this machine, in microseconds since
	// 1970. It is the same in a whole statement.
	Now    string
	Binary string // the type of bytes
	// the id of an event as indexes for lists have it: not that of the primary key
	EventID string
	// ReplyConnection is an expression for the connection in a chat's reply, as its indexes have it.
	ReplyConnection string
}

// SQLite is the dialect of SQLite.
var SQLite = Dialect{
	Name: "sqlite", Goose: goose.DialectSQLite3, EventID: `id`, Binary: `BLOB`,
	ReplyConnection: `json_extract(NULLIF(reply, ''), '$.connection_id')`,
	Now:             `CAST(unixepoch('subsec') * 1000000 AS INTEGER)`,
	Migrated:        `SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'goose_db_version'`,
	Retry:           func(err error) bool { return SQLiteCode(err)&0xff == sqlite3.SQLITE_BUSY },
	Duplicate: func(err error, _ string) bool {
		code := SQLiteCode(err)
		return code == sqlite3.SQLITE_CONSTRAINT_UNIQUE || code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
	},
	Outage: func(err error) bool {
		switch SQLiteCode(err) & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
			return true
		}
		return false
	},
}

// Postgres is the dialect of PostgreSQL.
var Postgres = Dialect{
	Name: "postgres", Goose: goose.DialectPostgres, EventID: `id COLLATE "POSIX"`, Binary: `BYTEA`, Joinable: true,
	ReplyConnection: `substring(reply from '"connection_id":"([^"]*)"')`,

	Migrated: `SELECT COUNT(to_regclass('goose_db_version'))`,
	// Rows that refer to the locked one can still be inserted (manual, 13.3.2). With FOR UPDATE a
	// sign-in and an acceptance of the same user deadlock, and all wait a second until that is noticed.
	Lock:     " FOR NO KEY UPDATE OF t",
	LockFree: " FOR NO KEY UPDATE OF t SKIP LOCKED",
	Clock:    `SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint`,
	Now:      `(EXTRACT(EPOCH FROM statement_timestamp()) * 1000000)::bigint`,
	TryLock:  `SELECT pg_try_advisory_xact_lock(hashtextextended(?, 0))`,
	Retry: func(err error) bool {
		code := PostgresCode(err)
		return code == "40001" || code == "40P01" // serialization_failure, deadlock_detected
	},
	Duplicate: func(err error, index string) bool {
		var e *pq.Error
		return errors.As(err, &e) && e.Code == "23505" && e.Constraint == index
	},
	Outage: func(err error) bool {
		if _, ok := errors.AsType[*connectError](err); ok || errors.Is(err, ErrStandby) || isLost(err) {
			return true
		}
		switch code := PostgresCode(err); {
		// connection, shutdown
		case len(code) == 5 && code[:2] == "08", code == "57P01", code == "57P02",
			code == "53300", code == "53100", code == "53200", // too many connections, disk full, out of memory
			code == "57014": // statement_timeout
			return true
		}
		var network net.Error
		return errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) ||
			errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
	},
}
