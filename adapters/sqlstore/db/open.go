package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
	"github.com/atrium-hq/atrium/adapters/sqlstore/migrations"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/ports"
)

// ErrNewerSchema says that a newer Atrium has already changed the database.
var ErrNewerSchema = errors.New("the database belongs to a newer version of Atrium: run that version, or restore a " +
	"backup made before the upgrade")

// OpenPool creates a pool from a connector: sql.OpenDB, or a function that also traces every statement.
type OpenPool func(driver.Connector) *sql.DB

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

func (s *shared) openSQLite(path string, c Config, open OpenPool) {
	s.Dialect = engine.SQLite
	synchronous := c.Synchronous
	if synchronous == "" {
		synchronous = "full"
	}
	source := func(options string) driver.Connector {
		return engine.Prepare(engine.SQLiteSource("file:" + (&url.URL{Path: path}).EscapedPath() +
			"?_txlock=immediate&_pragma=busy_timeout(5000)" + options + "&_pragma=foreign_keys(1)" +
			"&_pragma=journal_mode(wal)&_pragma=synchronous(" + synchronous + ")&_pragma=temp_store(memory)"))
	}
	readers := func(n int) *sqlx.DB {
		db := open(source("&_pragma=query_only(1)"))
		db.SetMaxOpenConns(n)
		db.SetMaxIdleConns(n)
		return sqlx.NewDb(db, "sqlite")
	}
	// Setting auto_vacuum writes to the file, and readers must not write: see dataVersion. The writer connects first,
	// in createSQLiteSchema.
	s.groups = newGroupCommit(source("&_pragma=auto_vacuum(incremental)"), open)
	s.writer = s.groups.db
	s.reader, s.credentials = readers(max(minReaders, runtime.GOMAXPROCS(0))), readers(credentialReaders)
}

// SQLite's readers: for everything, and only for looking up credentials.
const (
	minReaders        = 8
	credentialReaders = 2
)

func (s *shared) openPostgres(c Config, open OpenPool) error {
	s.Dialect = engine.Postgres
	connector, err := engine.NewPostgres(c.URL.Reveal(), c.StatementTimeout)
	if err != nil {
		return err
	}
	pool := func(n int, wait time.Duration) (*sqlx.DB, *engine.PoolConnector) {
		pool := engine.NewPoolConnector(connector, n, wait)
		db := open(engine.PrepareRepeated(pool))
		pool.Limit(db)
		db.SetConnMaxIdleTime(5 * time.Minute)
		db.SetConnMaxLifetime(maxConnAge)
		return sqlx.NewDb(db, "postgres"), pool
	}
	reserve := keptForCredentials(c.MaxConns)
	s.writer, s.connector = pool(c.MaxConns-reserve, firstConnectionWait)
	s.reader = s.writer
	if reserve > 0 {
		s.credentials, _ = pool(reserve, 0) // without a wait: the look-up then uses the other connections
	}
	return nil
}

// maxConnAge is how long a connection to PostgreSQL is used: none stays with a server that its name no longer leads to.
const maxConnAge = 30 * time.Minute

// firstConnectionWait is how long a statement waits if the pool has no connection and the server accepts no more.
const firstConnectionWait = 2 * time.Second

// checkSessions returns engine.ErrPooledByTransaction if connections to PostgreSQL do not keep their backend. It calls
// meanwhile, unless it is nil, with the first of them while another one is opened.
func (db *DB) checkSessions(ctx context.Context, duringWait func(context.Context, *sql.Conn) error) error {
	if db.connector == nil {
		return nil
	}
	return db.connector.CheckSessions(ctx, duringWait)
}

// keptForCredentials returns how many of maxConns connections are reserved for looking up credentials: a fifth, at most
// four; none of fewer than five.
func keptForCredentials(maxConns int) int { return min(maxConns/5, 4) }

func (db *DB) close() {
	_ = db.reader.Close()
	_ = db.writer.Close()
	if db.credentials != nil {
		_ = db.credentials.Close()
	}
}

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

// apply applies the missing migrations; on PostgreSQL on a connection of its own, whose statements may take longer.
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
	if exists, err := db.HasSchema(ctx); !exists || err != nil {
		return ours, 0, err
	}
	_, err = db.Get(ctx, &theirs, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version`)
	return ours, theirs, err
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

// Engine names the database for people: sqlite or postgres.
func (db *DB) Engine() string { return db.Dialect.Name }

// Pools returns the connection pools by their names in metrics.
func (db *DB) Pools() map[string]*sql.DB {
	pools := map[string]*sql.DB{"atrium": db.reader.DB}
	if db.credentials != nil {
		pools["atrium_credentials"] = db.credentials.DB
	}
	return pools
}
