package sqlstore

import (
	"time"

	"github.com/atrium-hq/atrium/domain/secret"
)

// Config says where the data lives, and how long a statement may take.
type Config struct {
	// URL picks the engine by its scheme: sqlite:path or postgres://…. It may hold a password.
	URL secret.String

	// MaxConns is the most connections that one process opens to PostgreSQL, of which some only look up
	// credentials. SQLite has one writer and takes no notice.
	MaxConns int

	// StatementTimeout ends a statement that runs longer; PostgreSQL enforces it itself too.
	StatementTimeout time.Duration

	// Synchronous is SQLite's pragma of that name, full or normal. Under normal, transactions
	// that were acknowledged may be lost when the power fails; nothing is corrupted.
	Synchronous string
}
