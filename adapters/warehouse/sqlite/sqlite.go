// Package sqlite reads SQLite files in a folder, for deployments that keep everything on one machine.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"syscall"

	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
	"modernc.org/sqlite/vfs"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// Warehouse implements ports.Warehouse for connection.SQLite.
//
// SQLite sees a file system with only one file, opened through os.Root and never written to: ATTACH, a
// journal or a link cannot reach anything else. Changes that are still in a write-ahead log beside the file are not
// visible before a checkpoint.
type Warehouse struct {
	folder string
}

// New returns a Warehouse for a folder's files, which need not exist yet.
func New(folder string) *Warehouse { return &Warehouse{folder: folder} }

// Probe implements ports.Warehouse.
func (w *Warehouse) Probe(ctx context.Context, target ports.Target) connection.Report {
	trace := warehouse.NewTrace()
	trace.Watch = target.Watch
	for _, step := range []connection.Step{connection.Resolve, connection.Policy, connection.Connect, connection.TLS,
		connection.Authenticate} {
		trace.Skipped(step)
	}
	return trace.Report(w.withFile(ctx, target, func(ctx context.Context, db *sql.Conn) error {
		trace.Passed(connection.Database)
		if _, err := tables(ctx, db, connection.TableQuery{Limit: 1}); err != nil {
			return err
		}
		var version string
		if err := db.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&version); err != nil {
			return classify(ctx, err)
		}
		trace.Server = connection.Server{Product: "SQLite", Version: warehouse.Word(version)}
		trace.Passed(connection.Read)
		trace.Passed(connection.Privileges)
		return nil
	}))
}

// Tables implements ports.Warehouse.
func (w *Warehouse) Tables(
	ctx context.Context, target ports.Target, q connection.TableQuery,
) (found []connection.Table, err error) {
	err = w.withFile(ctx, target, func(ctx context.Context, db *sql.Conn) (err error) {
		found, err = warehouse.Matching(q, func(q connection.TableQuery) ([]connection.Table, error) {
			return tables(ctx, db, q)
		})
		return err
	})
	return found, err
}

// Preview implements ports.Warehouse. SQLite stores no row counts, so the estimate is unknown.
func (w *Warehouse) Preview(
	ctx context.Context, target ports.Target, q connection.PreviewQuery,
) (p connection.Preview, err error) {
	err = w.withFile(ctx, target, func(ctx context.Context, db *sql.Conn) (err error) {
		ctx, cancel := context.WithTimeout(ctx, target.Limits.Statement)
		defer cancel()
		p, err = preview(ctx, db, q)
		return err
	})
	return p, err
}

// withFile runs fn on the file that the credential names.
func (w *Warehouse) withFile(ctx context.Context, target ports.Target,
	fn func(context.Context, *sql.Conn) error) (err error) {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, target.Limits.Total)
	defer cancel()
	root, err := os.OpenRoot(w.folder)
	if err != nil {
		return connection.DatabaseNotFound // there are no files at all
	}
	defer func() { _ = root.Close() }()
	onlyFile := single{root: root, name: target.Credential.Text("file")}
	f, err := onlyFile.Open(onlyFile.name)
	if err != nil {
		return connection.DatabaseNotFound
	}
	_ = f.Close() // it was only read
	name, fileSystem, err := vfs.New(onlyFile)
	if err != nil {
		return connection.Internal
	}
	defer func() { _ = fileSystem.Close() }() // fails only while a database is open, and it is not
	db, err := sql.Open("sqlite", "file:"+url.PathEscape(onlyFile.name)+"?vfs="+name+"&mode=ro&immutable=1"+
		"&_pragma=trusted_schema(0)&_pragma=query_only(1)&_pragma=cell_size_check(1)"+
		"&_pragma=temp_store(2)&_pragma=mmap_size(0)")
	if err != nil {
		return connection.Internal
	}
	defer func() { _ = db.Close() }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return classify(ctx, err)
	}
	defer func() { _ = conn.Close() }()
	if err := limit(conn); err != nil {
		return connection.Internal
	}
	if _, err := conn.ExecContext(ctx, `PRAGMA schema_version`); err != nil { // reads the file's head
		return classify(ctx, err)
	}
	return fn(ctx, conn)
}

// limit limits what a file can make SQLite do (https://www.sqlite.org/security.html).
func limit(conn *sql.Conn) error {
	for id, limit := range map[int]int{
		sqlite3.SQLITE_LIMIT_LENGTH:          16 << 20, // of a value or row, in bytes
		sqlite3.SQLITE_LIMIT_SQL_LENGTH:      1 << 20,
		sqlite3.SQLITE_LIMIT_COLUMN:          2000,
		sqlite3.SQLITE_LIMIT_EXPR_DEPTH:      100,
		sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
		sqlite3.SQLITE_LIMIT_VDBE_OP:         250_000,
		sqlite3.SQLITE_LIMIT_ATTACHED:        0,
		sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH:   1,
		sqlite3.SQLITE_LIMIT_WORKER_THREADS:  0,
	} {
		if _, err := modernc.Limit(conn, id, limit); err != nil {
			return err
		}
	}
	return nil
}

// single is a file system with one regular file.
type single struct {
	root *os.Root
	name string
}

// Open opens the file for reading. Without O_NONBLOCK, opening a pipe would block.
func (s single) Open(name string) (fs.File, error) {
	if name != s.name {
		return nil, fs.ErrNotExist
	}
	f, err := s.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fs.ErrNotExist, f.Close())
	}
	return f, nil
}

// classify returns the code of an SQLite error, by its result code.
func classify(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Canceled
	}
	if warehouse.IsTimeout(err) || ctx.Err() != nil {
		return connection.QueryTimeout
	}
	s, ok := errors.AsType[*modernc.Error](err)
	if !ok {
		return connection.Internal
	}
	switch s.Code() & 0xff { // the primary code
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return connection.NotThisDatabase
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR:
		return connection.DatabaseNotFound
	case sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_FULL:
		return connection.ResponseTooLarge
	case sqlite3.SQLITE_INTERRUPT:
		return connection.QueryTimeout
	case sqlite3.SQLITE_AUTH, sqlite3.SQLITE_PERM:
		return connection.PermissionDenied
	case sqlite3.SQLITE_ERROR: // a view of a missing table, or one that exceeds a limit
		return connection.TableNotFound
	}
	return connection.Internal
}

// quote writes a name that the catalogue confirmed as an identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
