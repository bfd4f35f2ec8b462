package engine

import (
	"errors"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
	"modernc.org/sqlite"
)

// ErrPooledByTransaction means that a pooler gives the transactions of one connection to different backends. Prepared
// statements, LISTEN and session locks do not work there: another caller's statement could run.
var ErrPooledByTransaction = errors.New(
	"the pooler that database.url leads to pools by transaction, and Atrium needs " +
		"connections of its own: set pool_mode = session in PgBouncer, or let database.url lead to PostgreSQL itself")

// ErrStandby means that the server is a standby, which cannot be written: after a failover a name or a proxy may lead
// to one for some seconds.
var ErrStandby = errors.New("the server is a standby (pg_is_in_recovery)")

// connectError is an error of connecting: the database cannot be reached now, whatever the reason.
type connectError struct{ error }

// Unwrap returns the reason.
func (e *connectError) Unwrap() error { return e.error }

// isLost reports whether an error of PostgreSQL means that its connection must not be used again: it leads to a server
// that cannot be written, and another connection may not.
func isLost(err error) bool {
	switch PostgresCode(err) {
	case "25006", // read_only_sql_transaction, such as of a primary that has become a standby
		"57P03", // cannot_connect_now
		"0A000": // feature_not_supported: a read-write transaction in recovery, or a plan of before a migration
		return true
	}
	return false
}

// SQLiteCode returns the result code of an error of SQLite, or 0 for other errors.
func SQLiteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// PostgresCode returns the SQLSTATE of an error of PostgreSQL, or "" for other errors.
func PostgresCode(err error) pqerror.Code {
	var e *pq.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// tooManyConnections is the SQLSTATE of a server, a database or a role that has as many connections as it may have.
const tooManyConnections = "53300"

// IsFull reports whether err means that the server accepts no more connections.
func IsFull(err error) bool { return PostgresCode(err) == tooManyConnections }
