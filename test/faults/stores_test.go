// Package faults makes the stores below use cases fail, call by call.
package faults

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/migrated"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/statements"
)

var errOutage = errors.New("the store is away")

// faults counts the statements of the stores, BEGIN and COMMIT included, and makes one of them fail.
type faults struct {
	mu    sync.Mutex
	armed bool
	left  int // statements until the one that fails
	sent  int // statements after the one that failed, except those that undo
	fired bool

	isUndone bool // the last statement was a ROLLBACK
}

// next returns the error of the next statement; none for ROLLBACK, also to a savepoint, and for the release of that
// savepoint, which are not counted.
func (f *faults) next(query string, _ []driver.NamedValue) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	isRelease := f.isUndone && strings.HasPrefix(query, "RELEASE")
	f.isUndone = strings.HasPrefix(query, statements.Rollback)
	switch {
	case !f.armed, f.isUndone, isRelease:
		return nil
	case f.fired:
		f.sent++
		return errOutage
	case f.left > 0:
		f.left--
		return nil
	}
	f.fired = true
	return errOutage
}

// arm makes the statement after the next n fail.
func (f *faults) arm(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.left, f.sent, f.fired = true, n, 0, false
}

// disarm returns whether a statement failed, and how many were sent after it.
func (f *faults) disarm() (isFired bool, count int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = false
	return f.fired, f.sent
}

// openStores opens stores that f makes fail, with an org.
func openStores(t *testing.T) (s ports.Stores, f *faults, org identity.OrgID) {
	t.Helper()
	f = &faults{}
	db, closeDB, err := sqlstore.Open(t.Context(), sqlstore.Config{
		URL: secret.New("sqlite:" + migrated.SQLite(t, filepath.Join(t.TempDir(), "test.db"))), MaxConns: 10,
		StatementTimeout: proof.Patience,
	}, nil, func(c driver.Connector) *sql.DB {
		return sql.OpenDB(statements.Watch(c, f.next))
	})
	require.NoError(t, err)
	t.Cleanup(closeDB)
	ids, err := db.EnsureOrgs(t.Context(), []string{"one"})
	require.NoError(t, err)
	return db.Stores(), f, ids["one"]
}
