package sqlstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestCredentialsHaveConnectionsOfTheirOwn occupies every other connection, as long lists of one caller can.
func TestCredentialsHaveConnectionsOfTheirOwn(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db := open(t, url, databases.Keyring(t))
		ids, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		pool := db.Pools()["atrium"]
		for range pool.Stats().MaxOpenConnections {
			conn, err := pool.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), proof.Patience)
		defer cancel()
		s := db.Stores()
		if _, err := s.Keys.Principal(ctx, ids["one"], account.Hash{1}); !errors.Is(err, identity.ErrUnauthenticated) {
			t.Errorf("looking up an API key: %v", err)
		}
		if _, err := s.Users.SignedIn(ctx, ids["one"], "issuer", "subject"); !errors.Is(err, account.ErrUserNotFound) {
			t.Errorf("looking up a sign-in: %v", err)
		}
		if _, err := s.Tickets.Proven(ctx, ids["one"],
			[]session.Proof{{Key: account.Hash{1}}, {Issuer: "issuer", Subject: "subject"}}); err != nil {
			t.Errorf("looking up proofs: %v", err)
		}
	})
}
