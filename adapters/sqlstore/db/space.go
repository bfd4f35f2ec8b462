package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
	"github.com/atrium-hq/atrium/ports"
)

// Size returns the size of the database in bytes, without SQLite's log.
func (db *DB) Size(ctx context.Context) (bytes int64, err error) {
	query := `SELECT pg_database_size(current_database())`
	if db.Dialect.Name == engine.SQLite.Name {
		query = `SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()`
	}
	_, err = db.Get(ctx, &bytes, query)
	return bytes, err
}

// Modes of SQLite's pragma auto_vacuum.
const (
	vacuumNever       = 0
	vacuumIncremental = 2
)

const (
	// maxRewrite is up to which size, in bytes, a start rewrites a database whose pages cannot be released. SQLite
	// keeps the copy in memory, and other processes wait in the meantime.
	maxRewrite = 64 << 20

	pagesAtOnce = 500 // released in one transaction: a few milliseconds
	pagesKept   = 250 // unused ones that stay for the next writes
)

// makeReleasable prepares a SQLite database of an earlier version, unless it is large, so that ReleaseSpace works.
// A backup that is restored is prepared too, whatever its size.
func (db *DB) makeReleasable(ctx context.Context) error {
	if db.Dialect.Name != engine.SQLite.Name {
		return nil
	}
	var mode int
	if _, err := db.Get(ctx, &mode, `SELECT auto_vacuum FROM pragma_auto_vacuum()`); err != nil || mode != vacuumNever {
		return err
	}
	if size, err := db.Size(ctx); err != nil || size > maxRewrite {
		return err
	}
	_, err := db.writer.ExecContext(ctx, `VACUUM`)
	if db.Dialect.Outage(err) { // another process uses it, or the disk is full: the next start tries again
		return nil
	}
	return err
}

// ReleaseSpace gives unused pages of a SQLite file back to the file system. It works in small transactions, so that
// other writers do not have to wait. PostgreSQL does this itself.
func (db *DB) ReleaseSpace(ctx context.Context) error {
	if db.Dialect.Name != engine.SQLite.Name {
		return nil
	}
	for previous := int64(-1); ; {
		var free int64
		if _, err := db.Get(ctx, &free, `SELECT freelist_count FROM pragma_freelist_count()`); err != nil {
			return err
		}
		if free <= pagesKept || free == previous { // it is not releasable, or was filled again in the meantime
			return nil
		}
		previous = free
		if err := db.releasePages(ctx); err != nil {
			return err
		}
	}
}

func (db *DB) releasePages(ctx context.Context) error {
	rows, err := db.writer.QueryContext(ctx, fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, pagesAtOnce))
	if err != nil {
		return db.WrapErr(ctx, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() { // each step releases a page
	}
	return db.WrapErr(ctx, rows.Err())
}

// diskSample is the number of bytes that CheckDisk writes: a full disk often still has room for a few.
const diskSample = 64 << 10

// CheckDisk returns ports.ErrUnavailable with the reason if nothing can be written to the folder of a SQLite database:
// its disk is full or read-only. It writes a file there, and removes it. It returns nil if there is no such folder.
func (c Config) CheckDisk() error {
	file := c.File()
	if file == "" {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".atrium-ready-*")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		_, err = f.Write(make([]byte, diskSample))
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		return fmt.Errorf("%w: the disk of the database takes no data: %w", ports.ErrUnavailable, err)
	}
	return nil
}

// Erase runs a statement that deletes or replaces secrets, within a transaction. SQLite overwrites them, and empties
// its log after the commit, which else keeps them until other changes replace it. What another reader needs at that
// moment stays in the log until the next time.
func (db *DB) Erase(ctx context.Context, query string, args ...any) error {
	if db.Dialect.Name != engine.SQLite.Name {
		_, err := db.Exec(ctx, query, args...)
		return err
	}
	db.AfterCommit(func() { _, _ = db.writer.ExecContext(ctx, emptyLog) })
	_, err := db.Exec(ctx, `PRAGMA secure_delete = ON`)
	if err == nil {
		_, err = db.Exec(ctx, query, args...)
	}
	_, last := db.Exec(ctx, `PRAGMA secure_delete = OFF`) // it writes more pages
	return errors.Join(err, last)
}

const emptyLog = `PRAGMA wal_checkpoint(TRUNCATE)`

// EraseFreePages rewrites a SQLite database up to maxRewrite bytes, so that no unused page holds what was deleted, and
// empties its log. PostgreSQL's autovacuum frees what was deleted.
func (db *DB) EraseFreePages(ctx context.Context) error {
	if db.Dialect.Name != engine.SQLite.Name {
		return nil
	}
	size, err := db.Size(ctx)
	if err != nil || size > maxRewrite {
		return err
	}
	for _, statement := range []string{`VACUUM`, emptyLog} {
		_, err := db.writer.ExecContext(ctx, statement)
		if err != nil && !db.Dialect.Outage(err) { // while another process uses it, the next erasure tries again
			return db.WrapErr(ctx, err)
		}
	}
	return nil
}
