package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"modernc.org/sqlite"

	"github.com/atrium-hq/atrium/ports"
)

//go:embed migrations
var migrations embed.FS

// ErrNewerSchema says that a newer Atrium has already changed the database.
var ErrNewerSchema = errors.New("the database belongs to a newer version of Atrium: run that version, or restore a backup made before the upgrade")

// OpenPool makes a pool of what connects: sql.OpenDB, or one that traces every statement.
type OpenPool func(driver.Connector) *sql.DB

// Open connects and brings the schema up to date. The returned function closes every connection.
// sealer is for answers under an Idempotency-Key that show a secret.
func Open(ctx context.Context, c Config, sealer ports.Sealer, pool OpenPool) (*DB, func(), error) {
	s := &shared{sealer: sealer}
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
	db := &DB{shared: s}
	if err := db.migrate(ctx); err != nil {
		db.close()
		return nil, nil, inWords(err)
	}
	return db, db.close, nil
}

func (s *shared) openSQLite(path string, c Config, open OpenPool) {
	s.dialect = sqliteDialect
	synchronous := c.Synchronous
	if synchronous == "" {
		synchronous = "full"
	}
	connect := func(more string) *sql.DB {
		return open(prepare(sqliteConnector("file:" + (&url.URL{Path: path}).EscapedPath() + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)" +
			"&_pragma=journal_mode(wal)&_pragma=synchronous(" + synchronous + ")&_pragma=temp_store(memory)" + more)))
	}
	writer, reader := connect(""), connect("&_pragma=query_only(1)")
	writer.SetMaxOpenConns(1) // SQLite has one writer; waiting here is fair, its own busy loop is not
	reader.SetMaxOpenConns(max(4, runtime.GOMAXPROCS(0)))
	reader.SetMaxIdleConns(max(4, runtime.GOMAXPROCS(0)))
	s.writer, s.reader = sqlx.NewDb(writer, "sqlite"), sqlx.NewDb(reader, "sqlite")
}

// sqliteConnector is a data source name of SQLite, as a connector.
type sqliteConnector string

func (c sqliteConnector) Connect(context.Context) (driver.Conn, error) {
	return c.Driver().Open(string(c))
}
func (c sqliteConnector) Driver() driver.Driver { return &sqlite.Driver{} }

func (s *shared) openPostgres(c Config, open OpenPool) error {
	s.dialect = postgresDialect
	connector, err := newPostgresConnector(c.URL.Reveal(), c.StatementTimeout)
	if err != nil {
		return err
	}
	db := open(prepare(connector))
	db.SetMaxOpenConns(c.MaxConns)
	db.SetMaxIdleConns(c.MaxConns)
	db.SetConnMaxIdleTime(5 * time.Minute)
	s.writer = sqlx.NewDb(db, "postgres")
	s.reader = s.writer
	return nil
}

func init() { sqlx.BindDriver("sqlite", sqlx.QUESTION) }

func (db *DB) close() {
	_ = db.reader.Close()
	_ = db.writer.Close()
}

// migrate applies what is missing; on PostgreSQL under an advisory lock, so that nodes may start
// at the same time. On SQLite, where a process that lost the race finds a table that is there
// already, it looks again.
func (db *DB) migrate(ctx context.Context) (err error) {
	if db.migrations, err = db.migrator(); err != nil {
		return err
	}
	for range 50 {
		var ours, theirs int64
		ours, theirs, err = db.versions(ctx)
		switch {
		case err == nil && theirs > ours:
			return fmt.Errorf("%w (schema %d, this one knows %d)", ErrNewerSchema, theirs, ours)
		case err == nil && theirs == ours:
			return nil
		case err == nil:
			_, err = db.migrations.Up(ctx)
		}
		if err == nil || db.dialect.name != sqliteDialect.name || ctx.Err() != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

func (db *DB) migrator() (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations/"+db.dialect.name)
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if db.dialect.name == postgresDialect.name {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300)) // every second, for five minutes
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	return goose.NewProvider(db.dialect.goose, db.writer.DB, files, options...)
}

// versions returns the newest migration that this binary has, and that the database has seen.
func (db *DB) versions(ctx context.Context) (ours, theirs int64, err error) {
	sources := db.migrations.ListSources()
	theirs, err = db.migrations.GetDBVersion(ctx)
	return sources[len(sources)-1].Version, theirs, err
}

// Ready reports whether the database answers and has the schema of this binary, or a later one: while
// nodes are replaced one by one the first new one migrates, and those that are left must go on, for which
// every migration is safe with the binary before it. It takes no lock: goose's own question would wait for
// every node's migrations, and for all others who ask.
func (db *DB) Ready(ctx context.Context) error {
	sources := db.migrations.ListSources()
	ours, theirs := sources[len(sources)-1].Version, int64(0)
	if _, err := db.get(ctx, &theirs, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version`); err != nil {
		return err
	}
	if theirs < ours {
		return fmt.Errorf("%w: schema %d instead of %d", ports.ErrUnavailable, theirs, ours)
	}
	return nil
}

// Empty reports whether nobody has an account yet: the deployment is new.
func (db *DB) Empty(ctx context.Context) (bool, error) {
	var one int
	found, err := db.get(ctx, &one, `SELECT 1 FROM users LIMIT 1`)
	return !found, err
}

// OnlyPerson returns the e-mail address of the only person in all orgs; empty if there is nobody, or
// somebody else too.
func (db *DB) OnlyPerson(ctx context.Context) (email string, err error) {
	_, err = db.get(ctx, &email, `SELECT COALESCE(MIN(email), '') FROM users WHERE NOT service HAVING COUNT(*) = 1`)
	return email, err
}

// Engine names the database for people: sqlite or postgres.
func (db *DB) Engine() string { return db.dialect.name }

// Pool returns the connections, for metrics.
func (db *DB) Pool() *sql.DB { return db.reader.DB }
