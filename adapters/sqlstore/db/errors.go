package db

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/lib/pq"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
)

// ErrRaced means that another transaction did the same thing first, such as linking a subject. This one must
// run again to see it.
var ErrRaced = errors.New("another transaction was faster")

// describeOpenError returns an error that explains to the operator why a database cannot be opened: first the reason,
// then the driver's error. Neither contains the password.
func describeOpenError(err error) error {
	if reason := openErrorReason(err); reason != "" {
		return fmt.Errorf("database: %s (%w)", reason, err)
	}
	return fmt.Errorf("database: %w", err)
}

// openErrorReason returns why a database cannot be opened, or "" if the cause is unknown.
func openErrorReason(err error) string {
	var network net.Error
	switch code := engine.PostgresCode(err); {
	case errors.Is(err, engine.ErrStandby):
		return "the server is a standby, which cannot be written: " +
			"let database.url lead to the primary, or name both hosts"
	case code == "28P01", code == "28000": // invalid_password, invalid_authorization_specification
		return "the server rejects the user or the password in database.url"
	case code == "3D000": // invalid_catalog_name
		return "the server has no database with the name in database.url: create it"
	case code == "42501": // insufficient_privilege
		return "the user lacks a privilege that Atrium needs to start: let them change the schema"
	case code == "08P01": // protocol_violation, by which PgBouncer refuses parameters that it does not know
		return "the server, or a pooler before it, refuses a parameter in database.url"
	case code == "53300": // too_many_connections
		return "the server accepts no more connections"
	case len(code) == 5 && code[:2] == "57":
		return "the server is starting, stopping or overloaded"
	case errors.Is(err, pq.ErrSSLNotSupported):
		return "the server does not speak TLS: add ?sslmode=disable to database.url if the network to it is safe"
	case errors.Is(err, context.DeadlineExceeded):
		return "the server does not answer in time"
	case errors.As(err, &network):
		return "the server of database.url cannot be reached"
	}
	switch engine.SQLiteCode(err) & 0xff {
	case sqlite3.SQLITE_CANTOPEN:
		return "the file cannot be opened: check that its folder exists and that Atrium may write there"
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return "the file is not a SQLite database, or it is damaged: restore a backup"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return "Atrium may not write the file"
	case sqlite3.SQLITE_BUSY:
		return "another process has locked the file"
	case sqlite3.SQLITE_FULL:
		return "the disk is full"
	case sqlite3.SQLITE_IOERR:
		return "the disk is full, read-only or damaged"
	}
	return ""
}
