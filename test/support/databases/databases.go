// Package databases opens databases of both engines for tests of the SQL store.
package databases

import (
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/migrated"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
	"github.com/atrium-hq/atrium/test/support/statements"
)

// Engines make the URL of a database of each engine that has the schema and nothing else, and Empty that of one without
// it.
var (
	Engines = map[string]func(*testing.T) string{
		"sqlite": func(t *testing.T) string {
			return "sqlite:" + migrated.SQLite(t, filepath.Join(t.TempDir(), "test.db"))
		},
		"postgres": func(t *testing.T) string { return migrated.Postgres(t) },
	}
	Empty = map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "test.db") },
		"postgres": func(t *testing.T) string { return services.Postgres(t) },
	}
)

// OnEach runs a test on a database of each engine that has the schema and nothing else.
func OnEach(t *testing.T, test func(t *testing.T, url string)) {
	for engine, url := range Engines {
		t.Run(engine, func(t *testing.T) { test(t, url(t)) })
	}
}

// OnEmpty runs a test on a database of each engine that has no schema yet.
func OnEmpty(t *testing.T, test func(t *testing.T, url string)) {
	for engine, url := range Empty {
		t.Run(engine, func(t *testing.T) { test(t, url(t)) })
	}
}

// Raw connects without Atrium, to see what is there.
func Raw(t *testing.T, url string) *sql.DB {
	t.Helper()
	name, source := "postgres", url
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		name, source = "sqlite", path
	}
	db, err := sql.Open(name, source)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// Keyring returns a sealer for responses, with new keys.
func Keyring(t *testing.T) ports.Sealer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys.json")
	require.NoError(t, seal.Create(file))
	ring, err := seal.Open(seal.Config{KeyFile: file})
	require.NoError(t, err)
	return ring.Sealer(seal.Answers)
}

// Watched opens a database whose statements a log keeps.
func Watched(t *testing.T, url string) (*sqlstore.Store, *statements.Log) {
	t.Helper()
	message := new(statements.Log)
	db, closeDB, err := sqlstore.Open(t.Context(),
		sqlstore.Config{URL: secret.New(url), MaxConns: 10, StatementTimeout: proof.Patience}, Keyring(t),
		func(c driver.Connector) *sql.DB {
			return sql.OpenDB(statements.Watch(c, message.Add))
		})
	require.NoError(t, err)
	t.Cleanup(closeDB)
	return db, message
}

// Unguarded opens a direct connection to a database, as an attacker with write access has.
func Unguarded(t *testing.T, url string) *sqlx.DB {
	t.Helper()
	driver, source := "postgres", url
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		driver, source = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	db, err := sqlx.Open(driver, source)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Digester is a keyed hash as the keyring's.
type Digester string

// Digest implements ports.Digester.
func (d Digester) Digest(purpose string, parts ...[]byte) [32]byte {
	mac := hmac.New(sha256.New, []byte(string(d)+purpose))
	for _, p := range parts {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		mac.Write(p)
	}
	return [32]byte(mac.Sum(nil))
}
