package sqlstore_test

import (
	"context"
	"errors"
	neturl "net/url"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestCredentialsAreLookedUpWhileOnePoolIsBusy occupies every connection that lists can use, or every one that is kept
// for credentials.
func TestCredentialsAreLookedUpWhileOnePoolIsBusy(t *testing.T) {
	for _, busy := range []string{"atrium", "atrium_credentials"} {
		t.Run(busy, func(t *testing.T) {
			databases.OnEach(t, func(t *testing.T, url string) {
				a := adapter(t, url)
				team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
				key, token := fixture.Key(t, a.Stores, team.Member, account.KeyDraft{Name: "looked up"})
				db := open(t, url,
					databases.Keyring(t)) // it has looked up nothing yet, so that no cache returns the key
				pool := db.Pools()[busy]
				for range pool.Stats().MaxOpenConnections {
					conn, err := pool.Conn(t.Context())
					require.NoError(t, err)
					defer conn.Close()
				}
				ctx, cancel := context.WithTimeout(t.Context(), proof.Patience)
				defer cancel()
				found, err := db.Stores().Keys.Principal(ctx, team.Org, token.Hash())
				if err != nil || found.Key.ID != key.ID {
					t.Fatalf("the key is not found: %v", err)
				}
				assert.Equal(t, "connections were busy, not all", pool.Stats().InUse, pool.Stats().MaxOpenConnections)
			})
		})
	}
}

func TestACredentialIsNotLookedUpForARequestThatHasEnded(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, message := databases.Watched(t, url)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		message.Take()
		_, err := db.Stores().Keys.Principal(ctx, "org", account.Hash{1})
		if statements := message.Take(); !errors.Is(err, context.Canceled) || len(statements) > 0 {
			t.Errorf("%v, %v", err, statements)
		}
	})
}

// TestTheLookUpOfACredentialEndsAtItsDeadline looks up a credential in a database that does not respond. Nothing
// watches the context of such a statement: the connection has its deadline.
func TestTheLookUpOfACredentialEndsAtItsDeadline(t *testing.T) {
	u, err := neturl.Parse(databases.Engines["postgres"](t))
	require.NoError(t, err)
	proxy := fixture.NewProxy(t, u.Host)
	u.Host = proxy.Addr()
	keys := open(t, u.String(), databases.Keyring(t)).Stores().Keys
	if _, err := keys.Principal(t.Context(), "org", account.Hash{1}); !errors.Is(err, identity.ErrUnauthenticated) {
		t.Fatal(err)
	}
	proxy.Swallow(true)
	defer proxy.Swallow(false)
	const limit = 500 * time.Millisecond
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if _, err := keys.Principal(ctx, "org", account.Hash{2}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ended with %v", err)
	}
	proof.Within(t, "it", time.Since(start), limit+3*engine.Grace)
}
