package db

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
)

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
	return db.HasSchema(ctx)
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

// HasSchema reports whether Atrium has ever created its tables in the database.
func (db *DB) HasSchema(ctx context.Context) (bool, error) {
	var tables int
	_, err := db.Get(ctx, &tables, db.Dialect.Migrated)
	return tables > 0, err
}

// Pending returns how many migrations a start would apply; ErrNewerSchema if a newer Atrium has changed the database.
func (db *DB) Pending(ctx context.Context) (n int, err error) {
	exists, err := db.HasSchema(ctx)
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

// ServerLimits are the connection limits of PostgreSQL and their use by nodes.
type ServerLimits struct {
	Server   int `db:"server"`   // connections of users without privileges: max_connections less the reserved ones
	Role     int `db:"role"`     // of this user; -1: no limit
	Database int `db:"database"` // to this database; -1: no limit
	Nodes    int `db:"nodes"`    // running servers, if they signal presences through PostgreSQL
}

// Allowed returns the lowest limit, and its name.
func (c ServerLimits) Allowed() (limit int, name string) {
	limit, name = c.Server, "max_connections less the reserved ones"
	if c.Role >= 0 && c.Role < limit {
		limit, name = c.Role, "the limit of the role"
	}
	if c.Database >= 0 && c.Database < limit {
		limit, name = c.Database, "the limit of the database"
	}
	return limit, name
}

// ServerLimits returns the limits of PostgreSQL for the user and the database of this connection.
func (db *DB) ServerLimits(ctx context.Context) (c ServerLimits, err error) {
	_, err = db.Get(ctx, &c, `SELECT
		current_setting('max_connections')::int - (SELECT SUM(setting::int) FROM pg_settings
			WHERE name IN ('superuser_reserved_connections', 'reserved_connections')) AS server,
		(SELECT CASE WHEN rolsuper THEN -1 ELSE rolconnlimit END FROM pg_roles WHERE rolname = session_user) AS role,
		(SELECT CASE WHEN rolsuper THEN -1 ELSE datconnlimit END FROM pg_database, pg_roles
			WHERE datname = current_database() AND rolname = session_user) AS database,
		(SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = session_user
			AND query LIKE 'LISTEN %') AS nodes`)
	return c, err
}

// PerNode returns the most connections to PostgreSQL of one node: those of its pools, one that listens, and one with
// which a start migrates the database.
func (c Config) PerNode() int { return c.MaxConns + 2 }

// makeFile creates the file of a new database, readable only by its owner: SQLite would leave the mode to the umask,
// and gives the files beside it the same mode.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}
