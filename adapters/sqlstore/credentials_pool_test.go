package sqlstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/test/fixture"
)

// TestCredentialsAreLookedUpWhileAllOtherConnectionsAreBusy occupies every connection that lists can use.
func TestCredentialsAreLookedUpWhileAllOtherConnectionsAreBusy(t *testing.T) {
	onEach(t, func(t *testing.T, url string) {
		a := adapter(t, url)
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		key, token := fixture.Key(t, a.Stores, team.Member, account.KeyDraft{Name: "looked up"})
		db := open(t, url, keyring(t)) // it has looked up nothing yet, so that no cache returns the key
		pool := db.Pools()["atrium"]
		for range pool.Stats().MaxOpenConnections {
			conn, err := pool.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		found, err := db.Stores().Keys.Principal(ctx, team.Org, token.Hash())
		if err != nil || found.Key.ID != key.ID {
			t.Fatalf("the key is not found: %v", err)
		}
		if busy := pool.Stats().InUse; busy != pool.Stats().MaxOpenConnections {
			t.Errorf("%d connections were busy, not all", busy)
		}
	})
}
