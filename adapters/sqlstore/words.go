package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/lib/pq"
	sqlite3 "modernc.org/sqlite/lib"
)

// inWords says what keeps a database from being opened, for whoever runs Atrium: what it means
// first, what the driver says of it after. Neither knows the password.
func inWords(err error) error {
	if what := meaning(err); what != "" {
		return fmt.Errorf("database: %s (%w)", what, err)
	}
	return fmt.Errorf("database: %w", err)
}

func meaning(err error) string {
	var network net.Error
	switch code := postgresCode(err); {
	case code == "28P01", code == "28000": // invalid_password, invalid_authorization_specification
		return "the server refuses the user or the password in database.url"
	case code == "3D000": // invalid_catalog_name
		return "the server has no database of the name in database.url: make one"
	case code == "42501": // insufficient_privilege
		return "the user may not do what a start needs; the schema must be theirs to change"
	case code == "53300": // too_many_connections
		return "the server takes no more connections"
	case len(code) == 5 && code[:2] == "57":
		return "the server is starting, stopping or overloaded"
	case errors.Is(err, pq.ErrSSLNotSupported):
		return "the server does not speak TLS: add ?sslmode=disable to database.url if the way to it is safe"
	case errors.Is(err, context.DeadlineExceeded):
		return "the server does not answer in time"
	case errors.As(err, &network):
		return "the server of database.url cannot be reached"
	}
	switch sqliteCode(err) & 0xff {
	case sqlite3.SQLITE_CANTOPEN:
		return "the file cannot be opened: see to its folder and who may write there"
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return "the file is no SQLite database, or a damaged one: restore a backup"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return "the file may not be written"
	case sqlite3.SQLITE_BUSY:
		return "another process keeps the file locked"
	case sqlite3.SQLITE_FULL:
		return "the disk is full"
	}
	return ""
}
