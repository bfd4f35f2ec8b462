package db

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/ports"
)

// Open connects and brings the schema up to date. The returned function closes every connection. sealer is for
// responses under an Idempotency-Key that contain a secret.
func Open(ctx context.Context, c Config, sealer ports.Sealer, pool OpenPool) (*DB, func(), error) {
	s := &shared{Sealer: sealer, Scans: defaultScans, changes: newChanges(), observed: newObservedChanges(),
		followers: newFollowers()}
	s.Principals.observed, s.SignIns.observed, s.Sessions.observed = s.observed, s.observed, s.observed
	// If a person signs in twice at the same time, the cache keeps the sign-in with the newer token.
	s.SignIns.isNewer = func(stored, p *account.Person) bool { return stored.IssuedAt.After(p.IssuedAt) }
	var err error
	if path, ok := strings.CutPrefix(c.URL.Reveal(), "sqlite:"); ok {
		if err = makeFile(path); err == nil {
			s.openSQLite(path, c, pool)
		}
	} else {
		err = s.openPostgres(c, pool)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("database: %w", err)
	}
	s.checkDisk = c.CheckDisk
	db := &DB{shared: s}
	isNew := false
	err = db.checkSessions(ctx, func(ctx context.Context, conn *sql.Conn) (err error) {
		isNew, err = db.createPostgresSchema(ctx, conn)
		return err
	})
	if err == nil {
		db.migrations, err = db.migrator(db.writer.DB)
	}
	if err == nil && !isNew { // what was created has every migration
		err = db.migrate(ctx, c, pool)
	}
	if err == nil {
		err = db.makeReleasable(ctx)
	}
	if err != nil {
		db.close()
		return nil, nil, describeOpenError(err)
	}
	return db, db.close, nil
}

// Inspect opens a database read-only: it creates and changes nothing. It returns fs.ErrNotExist if a SQLite
// database does not exist yet. The returned function closes it.
func Inspect(ctx context.Context, c Config, pool OpenPool) (*DB, func(), error) {
	db, err := unconnected(c, pool)
	if err != nil {
		return nil, nil, err
	}
	err = db.checkSessions(ctx, nil)
	if err == nil {
		err = db.reader.PingContext(ctx)
	}
	if err == nil {
		db.migrations, err = db.migrator(db.writer.DB)
	}
	if err != nil {
		db.close()
		return nil, nil, describeOpenError(err)
	}
	return db, db.close, nil
}

// HasSchema reports whether Atrium has ever created its tables in the database. It returns fs.ErrNotExist if a SQLite
// database does not exist yet. On PostgreSQL it opens one connection, with which it cannot find a transaction pooler.
func HasSchema(ctx context.Context, c Config, pool OpenPool) (bool, error) {
	db, err := unconnected(c, pool)
	if err != nil {
		return false, err
	}
	defer db.close()
	if err := db.reader.PingContext(ctx); err != nil {
		return false, describeOpenError(err)
	}
	return db.hasSchema(ctx)
}

// Ready reports whether the database responds and has the schema of this binary, or a later one: while nodes are
// replaced one by one, the first new one migrates, and the others must continue to work. So every migration is
// compatible with the previous binary. On PostgreSQL it also checks that the connection has kept its backend, and that
// the server is no standby.
func (db *DB) Ready(ctx context.Context) error {
	if err := db.reader.PingContext(ctx); err != nil {
		return db.WrapErr(ctx, err)
	}
	ours, theirs, err := db.versions(ctx)
	if err != nil {
		return err
	}
	if theirs < ours {
		return fmt.Errorf("%w: schema %d instead of %d", ports.ErrUnavailable, theirs, ours)
	}
	return db.checkDisk()
}

// Pools returns the connection pools by their names in metrics.
func (db *DB) Pools() map[string]*sql.DB {
	pools := map[string]*sql.DB{"atrium": db.reader.DB}
	if db.credentials != nil {
		pools["atrium_credentials"] = db.credentials.DB
	}
	return pools
}
