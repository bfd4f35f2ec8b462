package sqlstore_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// scarce returns the URL of a fresh database whose user may have limit connections.
func scarce(t *testing.T, limit int) string {
	t.Helper()
	admin, err := sql.Open("postgres", services.Postgres(t))
	require.NoError(t, err)
	t.Cleanup(func() { admin.Close() })
	run := func(statement string) {
		t.Helper()
		if _, err := admin.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	role := "scarce_" + strings.ToLower(rand.Text())
	run(fmt.Sprintf(`CREATE ROLE %s LOGIN PASSWORD 'p' CONNECTION LIMIT %d`, role, limit))
	t.Cleanup(func() { run(`DROP ROLE ` + role) }) // after its database
	u, err := url.Parse(services.Postgres(t))
	require.NoError(t, err)
	run(fmt.Sprintf(`ALTER DATABASE %s OWNER TO %s`, strings.TrimPrefix(u.Path, "/"), role))
	u.User = url.UserPassword(role, "p")
	return u.String()
}

// TestRequestsWaitWhileTheServerAcceptsNoMoreConnections lets a node want more connections than PostgreSQL allows.
func TestRequestsWaitWhileTheServerAcceptsNoMoreConnections(t *testing.T) {
	url := scarce(t, 4)
	db := open(t, url, databases.Keyring(t)) // its pools may have ten
	ids, err := db.EnsureOrgs(t.Context(), []string{"one"})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var asking sync.WaitGroup
	for i := range 32 {
		asking.Go(func() {
			for n := range 20 {
				var err error
				switch (i + n) % 3 {
				case 0:
					_, err = db.Empty(ctx)
				case 1:
					_, err = db.EnsureOrgs(ctx, []string{"one"}) // in a transaction
				case 2:
					_, err = db.Stores().Keys.Principal(ctx, ids["one"], account.Hash{byte(i), byte(n)})
					if errors.Is(err, identity.ErrUnauthenticated) { // it has looked
						err = nil
					}
				}
				if err != nil {
					t.Errorf("a request failed: %v", err)
					return
				}
			}
		})
	}
	asking.Wait()
	t.Run("doctor's figures name the limit and the nodes", func(t *testing.T) {
		found, err := db.ServerLimits(ctx)
		require.NoError(t, err)
		if limit, name := found.Allowed(); limit != 4 || name != "the limit of the role" {
			t.Errorf("%+v: %d, %s", found, limit, name)
		}
	})
}
