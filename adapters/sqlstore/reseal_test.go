package sqlstore_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/connections"
	sqldb "github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestReseal(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		ctx := t.Context()
		db := open(t, url, databases.Keyring(t))
		ids, err := db.EnsureOrgs(ctx, []string{"one"})
		require.NoError(t, err)
		s := db.Stores()
		if _, err := db.KeyringCheck(ctx, []byte("check")); err != nil {
			t.Fatal(err)
		}
		if key, err := db.FingerprintKey(ctx, []byte("key")); err != nil || string(key) != "key" {
			t.Fatalf("FingerprintKey = %q, %v", key, err)
		}
		if key, err := db.FingerprintKey(ctx, []byte("another")); err != nil || string(key) != "key" {
			t.Fatalf("a key that is there was replaced: %q, %v", key, err)
		}
		var newConnections []*connection.Connection // so many that it takes more than one step
		for range 3 {
			by := fixture.NewTeam(t, s, ids["one"]).Member
			for range 35 {
				newConnections = append(newConnections, fixture.Connection(t, s, by))
			}
		}
		if n, err := connections.Credentials(ctx, db.DB); err != nil || n != 105 {
			t.Fatalf("Credentials = %d, %v", n, err)
		}
		lost := []byte("sealed for " + string(newConnections[7].ID))
		var last sqldb.Resealed
		rewrap := func(ciphertext []byte) ([]byte, error) {
			switch {
			case bytes.Equal(ciphertext, lost):
				return nil, errors.New("no key opens it")
			case bytes.HasPrefix(ciphertext, []byte("fresh ")):
				return ciphertext, nil
			}
			return append([]byte("fresh "), ciphertext...), nil
		}
		steps := 0
		for _, want := range []sqldb.Resealed{{Credentials: 105, Changed: 104, Unopened: 1},
			{Credentials: 105, Unopened: 1}} {
			steps = 0
			require.NoError(t, db.Reseal(ctx, &sqldb.Resealing{Rewrap: rewrap, Bind: unbound,
				Progress: func(r sqldb.Resealed) { last = r; steps++ }}))
			if last != want || steps != 2 {
				t.Fatalf("%+v after %d steps, want %+v", last, steps, want)
			}
		}
		for i, c := range newConnections {
			got, err := s.Connections.Sealed(ctx, c.Workspace, c.ID)
			want := "fresh sealed for " + string(c.ID)
			if i == 7 {
				want = string(lost)
			}
			if err != nil || string(got.Sealed) != want || got.Revision != 1 || got.Bound {
				t.Fatalf("%+v, %v; want %q", got, err, want)
			}
		}
		if key, err := db.FingerprintKey(ctx, nil); err != nil || string(key) != "fresh key" {
			t.Fatalf("FingerprintKey = %q, %v", key, err)
		}
	})
}

func TestResealKeepsACredentialThatIsReplacedMeanwhile(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, by, newConnection := withConnection(t, url)
		err := db.Reseal(t.Context(), &sqldb.Resealing{Rewrap: func(ciphertext []byte) ([]byte, error) {
			tr := fixture.Trial(t, newConnection.ID, 1)
			tr.New.Sealed = []byte("replaced")
			_, err := db.Stores().Connections.Update(t.Context(), by.Workspace, newConnection.ID,
				func(c *connection.Connection, n int) error { return c.Verify(by, tr, n) })
			return append([]byte("fresh "), ciphertext...), err
		}, Bind: unbound, Progress: func(r sqldb.Resealed) {
			if r.Changed != 0 {
				t.Errorf("%+v", r)
			}
		}})
		require.NoError(t, err)
		if got, err := db.Stores().Connections.Sealed(t.Context(), by.Workspace, newConnection.ID); err != nil ||
			string(got.Sealed) != "replaced" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// withConnection returns a database with one connection, and its owner.
func withConnection(t *testing.T, url string) (*sqlstore.Store, identity.Actor, *connection.Connection) {
	t.Helper()
	db := open(t, url, databases.Keyring(t))
	ids, err := db.EnsureOrgs(t.Context(), []string{"one"})
	require.NoError(t, err)
	by := fixture.NewTeam(t, db.Stores(), ids["one"]).Member
	return db, by, fixture.Connection(t, db.Stores(), by)
}

// unbound leaves credentials as v0.1.0 sealed them.
func unbound(*sqldb.SealedCredential) ([]byte, error) { return nil, nil }

func TestCredentialsAreBoundToTheirRevision(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, by, item := withConnection(t, url)
		same := func(ciphertext []byte) ([]byte, error) { return ciphertext, nil }
		calls := 0
		for _, want := range []int{1, 0} {
			bind := func(c *sqldb.SealedCredential) ([]byte, error) {
				calls++
				if c.ID != item.ID || c.Org != by.Org || c.Workspace != by.Workspace || c.Kind != item.Kind ||
					c.Revision != 1 {
					t.Errorf("%+v", c)
				}
				return append([]byte("bound "), c.Sealed...), nil
			}
			progress := func(r sqldb.Resealed) {
				if r.Changed != want {
					t.Errorf("%+v", r)
				}
			}
			err := db.Reseal(t.Context(), &sqldb.Resealing{Rewrap: same, Bind: bind, Progress: progress})
			require.NoError(t, err)
		}
		got, err := db.Stores().Connections.Sealed(t.Context(), by.Workspace, item.ID)
		if err != nil || !got.Bound || got.Revision != 1 || string(got.Sealed) != "bound sealed for "+string(item.ID) ||
			calls != 1 {
			t.Errorf("%+v, %v, after %d calls", got, err, calls)
		}
	})
}
