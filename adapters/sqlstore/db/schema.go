package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
	"github.com/atrium-hq/atrium/adapters/sqlstore/migrations"
)

// ErrNewerSchema means that a newer Atrium has already changed the database.
var ErrNewerSchema = errors.New("the database belongs to a newer version of Atrium: run that version, or restore a " +
	"backup made before the upgrade")

// migrationTimeout is the longest that one statement of a migration may take on PostgreSQL, such as an
// index of a large table.
const migrationTimeout = time.Hour

// migrate applies the missing migrations. On PostgreSQL it does so under an advisory lock, so that nodes can start at
// the same time. Another node's statements may deadlock with a migration, which PostgreSQL then cancels, and which is
// applied again. On SQLite a process that lost the race finds that a table already exists; it then checks again.
func (db *DB) migrate(ctx context.Context, c Config, open OpenPool) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := db.applyMissing(ctx, c, open)
		if errors.Is(err, ErrNewerSchema) || (db.Dialect.Name != engine.SQLite.Name && !db.Dialect.Retry(err)) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(backoff.NewConstantBackOff(100*time.Millisecond)), backoff.WithMaxTries(50),
		backoff.WithMaxElapsedTime(0))
	return err
}

// applyMissing applies the missing migrations once.
func (db *DB) applyMissing(ctx context.Context, c Config, open OpenPool) error {
	if db.Dialect.Name == engine.SQLite.Name {
		if err := db.createSQLiteSchema(ctx); err != nil {
			return err
		}
	}
	ours, theirs, err := db.versions(ctx)
	switch {
	case err == nil && theirs > ours:
		return fmt.Errorf("%w (schema %d, this one knows %d)", ErrNewerSchema, theirs, ours)
	case err == nil && theirs < ours:
		err = db.apply(ctx, c, open)
	}
	return err
}

// apply applies the missing migrations; on PostgreSQL on its own connection, whose statements may take longer.
func (db *DB) apply(ctx context.Context, c Config, open OpenPool) error {
	provider := db.migrations
	if db.Dialect.Name == engine.Postgres.Name {
		connector, err := engine.NewPostgres(c.URL.Reveal(), migrationTimeout)
		if err != nil {
			return err
		}
		pool := open(connector)
		defer func() { _ = pool.Close() }()
		if provider, err = db.migrator(pool); err != nil {
			return err
		}
	}
	_, err := provider.Up(ctx)
	return err
}

// migrator locks the schema on PostgreSQL, where several nodes can start at the same time. SQLite's file has one
// writer.
func (db *DB) migrator(conn *sql.DB) (*goose.Provider, error) {
	files, err := migrations.Files(db.Dialect.Name)
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if db.Dialect.Name == engine.Postgres.Name {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300)) // every second, for five minutes
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	return goose.NewProvider(db.Dialect.Goose, conn, files, options...)
}

// versions returns the newest migration that this binary has, and the newest that was applied to the database; 0 if
// none was. Unlike Goose it takes no lock, so a start that has nothing to apply does not wait for other nodes.
func (db *DB) versions(ctx context.Context) (ours, theirs int64, err error) {
	sources := db.migrations.ListSources()
	ours = sources[len(sources)-1].Version
	if exists, err := db.hasSchema(ctx); !exists || err != nil {
		return ours, 0, err
	}
	_, err = db.Get(ctx, &theirs, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version`)
	return ours, theirs, err
}

// hasSchema reports whether Atrium has ever created its tables in the database.
func (db *DB) hasSchema(ctx context.Context) (bool, error) {
	var tables int
	_, err := db.Get(ctx, &tables, db.Dialect.Migrated)
	return tables > 0, err
}

// Pending returns how many migrations a start would apply; ErrNewerSchema if a newer Atrium has changed the database.
func (db *DB) Pending(ctx context.Context) (n int, err error) {
	exists, err := db.hasSchema(ctx)
	if err != nil {
		return 0, err
	}
	var version int64
	if exists {
		if _, err := db.Get(ctx, &version,
			`SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied`); err != nil {
			return 0, err
		}
	}
	newest := int64(0)
	for _, m := range db.migrations.ListSources() {
		if newest = m.Version; newest > version {
			n++
		}
	}
	if version > newest {
		return 0, fmt.Errorf("%w (schema %d, this one knows %d)", ErrNewerSchema, version, newest)
	}
	return n, nil
}

// createSQLiteSchema gives an empty SQLite database the schema that the migrations would build step by step, and notes
// them as applied. It does nothing to a database that has them. ADR 114 has the times.
func (db *DB) createSQLiteSchema(ctx context.Context) error {
	var tables int
	if err := db.writer.GetContext(ctx, &tables, `SELECT COUNT(*) FROM sqlite_master`); err != nil || tables > 0 {
		return err
	}
	// The transaction has SQLite's lock: no other process can be creating the schema.
	return db.transact(ctx, func(tx sqlx.ExtContext) error {
		if err := sqlx.GetContext(ctx, tx, &tables, `SELECT COUNT(*) FROM sqlite_master`); err != nil || tables > 0 {
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
