package sqlstore_test

import (
	"context"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/test/fixture"
	"github.com/atrium-hq/atrium/test/proof"
)

// TestCredentialsAreLookedUpWhileOnePoolIsBusy occupies every connection that lists can use, or every one that is kept
// for credentials.
func TestCredentialsAreLookedUpWhileOnePoolIsBusy(t *testing.T) {
	for _, busy := range []string{"atrium", "atrium_credentials"} {
		t.Run(busy, func(t *testing.T) {
			onEach(t, func(t *testing.T, url string) {
				a := adapter(t, url)
				team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
				key, token := fixture.Key(t, a.Stores, team.Member, account.KeyDraft{Name: "looked up"})
				db := open(t, url, keyring(t)) // it has looked up nothing yet, so that no cache returns the key
				pool := db.Pools()[busy]
				for range pool.Stats().MaxOpenConnections {
					conn, err := pool.Conn(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					defer conn.Close()
				}
				ctx, cancel := context.WithTimeout(t.Context(), proof.Patience)
				defer cancel()
				found, err := db.Stores().Keys.Principal(ctx, team.Org, token.Hash())
				if err != nil || found.Key.ID != key.ID {
					t.Fatalf("the key is not found: %v", err)
				}
				if in := pool.Stats().InUse; in != pool.Stats().MaxOpenConnections {
					t.Errorf("%d connections were busy, not all", in)
				}
			})
		})
	}
}
