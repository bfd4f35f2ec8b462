// Package migrated gives tests databases that have the schema of this tree. Each is a copy of one that was
// migrated before, which takes a fraction of the time that the migrations take.
package migrated

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/migrations"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// SQLite writes a migrated database to path, and returns the path.
func SQLite(t testing.TB, path string) string {
	t.Helper()
	content, err := sqliteFile()
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		t.Fatalf("copy a migrated database: %v", err)
	}
	return path
}

// Postgres returns the URL of a migrated database, which is dropped when the test ends.
func Postgres(t testing.TB) string {
	t.Helper()
	name, err := templateName()
	require.NoError(t, err)
	return services.PostgresCopy(t, name, migrate)
}

// sqliteFile returns the content of a migrated database.
var sqliteFile = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "migrated")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "atrium.db")
	if err := migrate("sqlite:" + path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func migrate(url string) error {
	const patience = 4 * time.Minute // all migrations take seconds, unless the machine is busy with other tests
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	config := sqlstore.Config{URL: secret.New(url), MaxConns: 2, StatementTimeout: patience}
	_, closeDB, err := sqlstore.Open(ctx, config, nil, sql.OpenDB)
	if err == nil {
		closeDB() // writes what SQLite has in its log into the file
	}
	return err
}

// templateName depends on the migrations: a server that tests share may have templates of other trees.
var templateName = sync.OnceValues(func() (string, error) {
	sum := sha256.New()
	folder, err := migrations.Files("postgres")
	if err != nil {
		return "", err
	}
	names, err := fs.Glob(folder, "*.sql")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return "", err
		}
		_, _ = sum.Write(content)
	}
	return "template_" + hex.EncodeToString(sum.Sum(nil)[:8]), nil
})
