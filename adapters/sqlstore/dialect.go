package sqlstore

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// dialect has all differences between the databases, apart from their migrations. Errors are classified by their
// codes, never by their texts.
type dialect struct {
	name      string
	goose     goose.Dialect
	lock      string                             // suffix of a SELECT whose row is about to change
	lockFree  string                             // suffix of one that leaves out the rows which another transaction is changing
	joinable  bool                               // several writes can be one statement (DB.run)
	tryLock   string                             // locks a text until the transaction ends, unless another has it; empty: there is one writer
	retry     func(error) bool                   // the transaction lost a race and may run again
	duplicate func(err error, index string) bool // the row breaks this unique index; SQLite tells only that it broke one
	migrated  string                             // counts the table of goose: 0 if no migration was ever applied
	outage    func(error) bool                   // the database cannot be reached, or not now
	eventID   string                             // the id of an event as indexes for lists have it: not that of the primary key
}

var sqliteDialect = dialect{
	name: "sqlite", goose: goose.DialectSQLite3, eventID: `id`,
	migrated: `SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'goose_db_version'`,
	retry:    func(err error) bool { return sqliteCode(err)&0xff == sqlite3.SQLITE_BUSY },
	duplicate: func(err error, _ string) bool {
		code := sqliteCode(err)
		return code == sqlite3.SQLITE_CONSTRAINT_UNIQUE || code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
	},
	outage: func(err error) bool {
		switch sqliteCode(err) & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
			return true
		}
		return false
	},
}

var postgresDialect = dialect{
	name: "postgres", goose: goose.DialectPostgres, eventID: `id COLLATE "POSIX"`, joinable: true,
	migrated: `SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass('goose_db_version')`,
	// Rows that refer to the locked one can still be inserted (manual, 13.3.2). With FOR UPDATE a
	// sign-in and an acceptance of the same user deadlock, and all wait a second until that is noticed.
	lock:     " FOR NO KEY UPDATE OF t",
	lockFree: " FOR NO KEY UPDATE OF t SKIP LOCKED",
	tryLock:  `SELECT pg_try_advisory_xact_lock(hashtextextended(?, 0))`,
	retry: func(err error) bool {
		code := postgresCode(err)
		return code == "40001" || code == "40P01" // serialization_failure, deadlock_detected
	},
	duplicate: func(err error, index string) bool {
		var e *pq.Error
		return errors.As(err, &e) && e.Code == "23505" && e.Constraint == index
	},
	outage: func(err error) bool {
		switch code := postgresCode(err); {
		case len(code) == 5 && code[:2] == "08", code == "57P01", code == "57P02", code == "57P03", // connection, shutdown
			code == "53300", code == "53100", code == "53200", // too many connections, disk full, out of memory
			code == "57014": // statement_timeout
			return true
		}
		var network net.Error
		return errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
	},
}

func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

func postgresCode(err error) pqerror.Code {
	var e *pq.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
