// Package sqlstore stores all data in SQLite or PostgreSQL. It composes the stores of all areas on package db.
package sqlstore

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/accounts"
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/adapters/sqlstore/jobs"
	"github.com/atrium-hq/atrium/ports"
)

// Store is a database, or one transaction on it, with the statements of all areas.
type Store struct{ *db.DB }

// Config configures the database and the limits of its use.
type Config = db.Config

// OpenPool creates a pool from a connector: sql.OpenDB, or a function that also traces every statement.
type OpenPool = db.OpenPool

// Errors of databases that cannot be opened or copied.
var (
	ErrNewerSchema = db.ErrNewerSchema
	ErrNoCopy      = db.ErrNoCopy
)

// Open connects and brings the schema up to date. The returned function closes every connection. sealer is for
// responses under an Idempotency-Key that contain a secret.
func Open(ctx context.Context, c Config, sealer ports.Sealer, pool OpenPool) (*Store, func(), error) {
	return withAreas(db.Open(ctx, c, sealer, pool))
}

// Inspect opens a database read-only: it creates and changes nothing. It returns fs.ErrNotExist if a SQLite
// database does not exist yet. The returned function closes it.
func Inspect(ctx context.Context, c Config, pool OpenPool) (*Store, func(), error) {
	return withAreas(db.Inspect(ctx, c, pool))
}

func withAreas(d *db.DB, closeDB func(), err error) (*Store, func(), error) {
	if err != nil {
		return nil, nil, err
	}
	return &Store{d}, closeDB, nil
}

// HasSchema reports whether Atrium has ever created its tables in the database. It returns fs.ErrNotExist if a SQLite
// database does not exist yet. On PostgreSQL it opens one connection, with which it cannot find a transaction pooler.
func HasSchema(ctx context.Context, c Config, pool OpenPool) (bool, error) {
	return db.HasSchema(ctx, c, pool)
}

// inTx runs fn in a transaction, and commits if fn succeeds; see db.DB.InTx.
func (store *Store) inTx(ctx context.Context, fn func(tx *Store) error) error {
	return store.InTx(ctx, func(tx *db.DB) error { return fn(&Store{tx}) })
}

// Accounts returns the people, their workspaces and credentials.
func (store *Store) Accounts() *accounts.Store { return accounts.NewStore(store.DB, jobs.Enqueue) }
