package db

import (
	"database/sql"
	"database/sql/driver"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/secret"
)

// Config configures the database and the limits of its use.
type Config struct {
	// URL selects the engine by its scheme: sqlite:path or postgres://…. It may contain a password.
	URL secret.String

	// MaxConns is the most connections that one process opens to PostgreSQL. Some of them only look up
	// credentials. SQLite has one writer and ignores it.
	MaxConns int

	// StatementTimeout ends a statement that runs longer. PostgreSQL itself enforces it, too.
	StatementTimeout time.Duration

	// Synchronous is SQLite's pragma of that name, full or normal. Under normal, transactions
	// that were acknowledged may be lost when the power fails; nothing is corrupted.
	Synchronous string
}

// File returns where a SQLite database is; empty for others.
func (c Config) File() string {
	path, _ := strings.CutPrefix(c.URL.Reveal(), "sqlite:")
	if path == c.URL.Reveal() {
		return ""
	}
	return path
}

// PerNode returns the most connections that one node opens to PostgreSQL: its pools, one that listens, and one with
// which a start migrates the database.
func (c Config) PerNode() int { return c.MaxConns + 2 }

// OpenPool creates a pool from a connector: sql.OpenDB, or a function that also traces every statement.
type OpenPool func(driver.Connector) *sql.DB
