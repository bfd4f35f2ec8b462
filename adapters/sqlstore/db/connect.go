package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
)

// openSQLite opens one connection that writes, and read-only connections, some of which are kept for credentials.
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

// makeFile creates the file of a new database, readable only by its owner: SQLite would leave the mode to the umask,
// and gives the files beside it the same mode.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// inspectSQLite opens an existing file. A database without a log beside it is complete, so it can be read without the
// files that SQLite would otherwise create.
func (s *shared) inspectSQLite(path string, open OpenPool) {
	mode := "?mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(1)"
	if _, err := os.Stat(path + "-wal"); os.IsNotExist(err) {
		mode += "&immutable=1"
	}
	s.Dialect = engine.SQLite
	s.reader = sqlx.NewDb(open(engine.Prepare(engine.SQLiteSource("file:"+(&url.URL{Path: path}).EscapedPath()+mode))),
		"sqlite")
	s.writer = s.reader
}

// openPostgres keeps some of MaxConns for credentials, so that slow statements cannot delay authentication.
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

// maxConnAge limits the use of a connection to PostgreSQL, so that none stays with a server after its name leads to
// another one.
const maxConnAge = 30 * time.Minute

// firstConnectionWait limits how long a statement waits if the pool has no connection and the server accepts no more.
const firstConnectionWait = 2 * time.Second

// keptForCredentials returns how many of maxConns connections are reserved for looking up credentials: a fifth, at most
// four; none of fewer than five.
func keptForCredentials(maxConns int) int { return min(maxConns/5, 4) }

// checkSessions returns engine.ErrPooledByTransaction if connections to PostgreSQL do not keep their backend. It calls
// duringWait, unless it is nil, with the first connection while another one is opened.
func (db *DB) checkSessions(ctx context.Context, duringWait func(context.Context, *sql.Conn) error) error {
	if db.connector == nil {
		return nil
	}
	return db.connector.CheckSessions(ctx, duringWait)
}

func (db *DB) close() {
	_ = db.reader.Close()
	_ = db.writer.Close()
	if db.credentials != nil {
		_ = db.credentials.Close()
	}
}

// unconnected returns a database to which the first query connects.
func unconnected(c Config, pool OpenPool) (*DB, error) {
	s := &shared{}
	if path, ok := strings.CutPrefix(c.URL.Reveal(), "sqlite:"); ok {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("database: %w", err)
		}
		s.inspectSQLite(path, pool)
	} else if err := s.openPostgres(c, pool); err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return &DB{shared: s}, nil
}
