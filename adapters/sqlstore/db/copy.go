package db

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
)

// ErrNoCopy is returned by CopyTo if the engine has its own tools for copies.
var ErrNoCopy = errors.New("database: this is PostgreSQL: back it up with pg_dump, or with the tools of its host")

// CopyTo writes a snapshot of the database to a new file, while others continue to read and write. It returns ErrNoCopy
// if the engine is not SQLite.
func (db *DB) CopyTo(ctx context.Context, path string) error {
	if db.Engine() != engine.SQLite.Name {
		return ErrNoCopy
	}
	conn, err := db.reader.Connx(ctx)
	if err != nil {
		return db.WrapErr(ctx, err)
	}
	defer func() { _ = conn.Close() }()
	// A connection under query_only cannot write to another file either.
	_, err = conn.ExecContext(ctx, `PRAGMA query_only = 0`)
	if err == nil {
		_, err = conn.ExecContext(ctx, `VACUUM INTO ?`, path)
	}
	return db.WrapErr(ctx, err)
}

// CheckIntegrity returns an error that names the first corruption of a SQLite database, if there is any.
func (db *DB) CheckIntegrity(ctx context.Context) error {
	var found string
	if err := db.reader.GetContext(ctx, &found, `PRAGMA quick_check(1)`); err != nil {
		return db.WrapErr(ctx, err)
	}
	if found != "ok" {
		return errors.New("the database is damaged: " + found)
	}
	return nil
}
