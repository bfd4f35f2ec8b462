package db

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
	"github.com/atrium-hq/atrium/adapters/sqlstore/migrations"
)

// createSQLiteSchema gives an empty SQLite database the schema that the migrations would build step by step, and notes
// them as applied. It does nothing to a database that has them. ADR 114 has the times.
func (db *DB) createSQLiteSchema(ctx context.Context) error {
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

// createPostgresSchema does the same on PostgreSQL, and reports whether it has created the schema. ADR 114 has
// the times.
//
// It needs no lock. A second node that starts at the same time waits, at its first table, for the end of the
// transaction of the first node. Then all statements of the second fail together. They also fail if a node of a release
// before ADR 114, which applies each migration by itself, has created the table of Goose.
//
// It uses the first connection of the pool, because what a start does next is several times faster on a backend that
// already knows the tables. Its statements may take as long as migrations.
func (db *DB) createPostgresSchema(ctx context.Context, conn *sql.Conn) (isNew bool, err error) {
	hasSchema := func() (bool, error) {
		var tables int
		err := conn.QueryRowContext(ctx, db.Dialect.Migrated).Scan(&tables)
		return tables > 0, db.WrapErr(ctx, err)
	}
	if exists, err := hasSchema(); exists || err != nil {
		return false, err
	}
	// Without parameters, lib/pq sends all statements as one message, which PostgreSQL runs as one transaction. It need
	// not plan how many workers build each index of an empty table, nor compile functions before they are called.
	_, err = conn.ExecContext(engine.WithLimit(ctx, migrationTimeout), fmt.Sprintf(`SET LOCAL statement_timeout = %d;
SET LOCAL max_parallel_maintenance_workers = 0;
SET LOCAL check_function_bodies = off;
`, migrationTimeout.Milliseconds())+migrations.PostgresSchema)
	if code := engine.PostgresCode(err); code == "42P07" || code == "23505" { // duplicate_table, unique_violation
		if exists, err := hasSchema(); exists || err != nil {
			return false, err // the migrations that are missing are applied next, under their lock
		}
	}
	if err != nil && db.Dialect.Retry(err) {
		return false, nil // the migrations build it then
	}
	return err == nil, err
}
