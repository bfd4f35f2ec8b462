package sqlstore

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
	"github.com/atrium-hq/atrium/adapters/sqlstore/migrations"
)

// createSchema gives an empty database the schema that the first migrations would build step by step, and notes them
// as applied. It does nothing to a database that has them. ADRs 114, 129 and 148 have the times.
func (db *DB) createSchema(ctx context.Context) error {
	if db.dialect.Name == engine.Postgres.Name {
		return db.createPostgresSchema(ctx)
	}
	var tables int
	if err := db.writer.GetContext(ctx, &tables, `SELECT COUNT(*) FROM sqlite_master`); err != nil || tables > 0 {
		return err
	}
	return db.transact(ctx, func(tx *sqlx.Tx) error { // it has the lock of SQLite: no other process can be creating it
		if err := tx.GetContext(ctx, &tables, `SELECT COUNT(*) FROM sqlite_master`); err != nil || tables > 0 {
			return err
		}
		_, err := tx.ExecContext(ctx, migrations.SQLiteSchema)
		return err
	})
}

// createPostgresSchema needs no lock. A second node that starts at the same time waits, at its first table, for the end
// of the transaction of the first node. Then all statements of the second fail together. They also fail if a node of a
// release before ADR 129, which applies each migration by itself, has created the table of Goose.
//
// It uses a connection of the pool, because what a start does next is several times faster on a backend that already
// knows the tables. Its statements may take as long as migrations.
func (db *DB) createPostgresSchema(ctx context.Context) error {
	if there, err := db.HasSchema(ctx); there || err != nil {
		return err
	}
	// Without parameters, lib/pq sends all statements as one message, which PostgreSQL runs as one transaction.
	_, err := db.writer.ExecContext(engine.WithLimit(ctx, migrationTimeout), fmt.Sprintf(
		`SET LOCAL statement_timeout = %d;`+"\n", migrationTimeout.Milliseconds())+migrations.PostgresSchema)
	if code := engine.PostgresCode(err); code == "42P07" || code == "23505" { // duplicate_table, unique_violation
		if there, err := db.HasSchema(ctx); there || err != nil {
			return err // the migrations that are missing are applied next, under their lock
		}
	}
	return err
}
