package sqlstore_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
	"github.com/atrium-hq/atrium/adapters/sqlstore/presences"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/contract"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// TestPgBouncer connects through PgBouncer with its default settings.
func TestPgBouncer(t *testing.T) {
	t.Run("a database works through a pooler by session", func(t *testing.T) {
		url := services.PgBouncer(t, services.Postgres(t), "session").URL
		assert.Equal(t, "statement_timeout", statementTimeout(t, url), "30s")
		contract.PresenceSignals(t, func() ports.PresenceSignals {
			return presences.NewSignals(open(t, url, databases.Keyring(t)).DB,
				sqlstore.Config{URL: secret.New(url)})
		})
	})
	for _, mode := range []string{"transaction", "statement"} {
		t.Run("a pooler by "+mode+" is refused", func(t *testing.T) {
			pooler := services.PgBouncer(t, services.Postgres(t), mode)
			c := sqlstore.Config{URL: secret.New(pooler.URL), MaxConns: 4, StatementTimeout: 30 * time.Second}
			if _, _, err := sqlstore.Open(t.Context(), c, databases.Keyring(t), sql.OpenDB); !errors.Is(err,
				engine.ErrPooledByTransaction) {
				t.Errorf("Open: %v", err)
			}
			if _, _, err := sqlstore.Inspect(t.Context(), c, sql.OpenDB); !errors.Is(err,
				engine.ErrPooledByTransaction) {
				t.Errorf("Inspect: %v", err)
			}
		})
	}
	t.Run("a database is not ready if its pooler begins to pool by transaction", func(t *testing.T) {
		pooler := services.PgBouncer(t, services.Postgres(t), "session")
		db := open(t, pooler.URL, databases.Keyring(t))
		require.NoError(t, db.Ready(t.Context()))
		require.NoError(t, pooler.Restart("transaction"))
		for range 3 { // requests that take turns on the backends
			go func() {
				for t.Context().Err() == nil {
					_, _ = db.Empty(t.Context())
				}
			}()
		}
		proof.Await(t, "Ready notices it", func() error { return db.Ready(t.Context()) },
			func(err error) bool { return errors.Is(err, engine.ErrPooledByTransaction) })
	})
}

// statementTimeout returns the setting on a connection of a pool.
func statementTimeout(t *testing.T, url string) (setting string) {
	t.Helper()
	connector, err := engine.NewPostgres(url, 30*time.Second)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	defer db.Close()
	require.NoError(t, db.QueryRowContext(t.Context(), `SHOW statement_timeout`).Scan(&setting))
	return setting
}
