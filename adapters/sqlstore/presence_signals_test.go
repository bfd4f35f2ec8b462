package sqlstore_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/contract"
)

func TestPresenceSignals(t *testing.T) {
	url := engines["postgres"](t)
	node := func() ports.PresenceSignals {
		return sqlstore.NewPresenceSignals(open(t, url, keyring(t)), sqlstore.Config{URL: secret.New(url)})
	}
	contract.PresenceSignals(t, node)

	t.Run("a connection that is cut is dialled anew, and says so", func(t *testing.T) {
		heard := make(chan identity.OrgID, 10)
		go func() { _ = node().Listen(t.Context(), func(org identity.OrgID) { heard <- org }) }()
		await := func() {
			t.Helper()
			select {
			case org := <-heard:
				if org != "" {
					t.Fatalf("heard of %q", org)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("nothing was heard")
			}
		}
		await()
		if _, err := raw(t, url).ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()`); err != nil {
			t.Fatal(err)
		}
		await()
	})
}
