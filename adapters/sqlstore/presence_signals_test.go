package sqlstore_test

import (
	"context"
	"net"
	neturl "net/url"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/presences"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/contract"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestPresenceSignals(t *testing.T) {
	url := databases.Engines["postgres"](t)
	node := func() ports.PresenceSignals {
		return presences.NewSignals(open(t, url, databases.Keyring(t)).DB, sqlstore.Config{URL: secret.New(url)})
	}
	contract.PresenceSignals(t, node)

	t.Run("a listener reconnects after its connection is cut, and signals it", func(t *testing.T) {
		heard := make(chan identity.OrgID, 10)
		go func() { _ = node().Listen(t.Context(), func(org identity.OrgID) { heard <- org }) }()
		await := func() {
			t.Helper()
			select {
			case org := <-heard:
				require.Equal(t, "heard of", org, "")
			case <-time.After(proof.Patience):
				t.Fatal("nothing was heard")
			}
		}
		await()
		if _, err := databases.Raw(t, url).ExecContext(t.Context(),
			`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'
				AND datname = current_database()`); err != nil {
			t.Fatal(err)
		}
		await()
	})
	t.Run("a listener ends although the database has gone silent", func(t *testing.T) {
		u, err := neturl.Parse(url)
		require.NoError(t, err)
		ends := func(host string, silence func(heard <-chan identity.OrgID)) {
			t.Helper()
			u.Host = host
			signals := presences.NewSignals(open(t, url, databases.Keyring(t)).DB,
				sqlstore.Config{URL: secret.New(u.String())})
			ctx, stop := context.WithCancel(t.Context())
			heard, endedErrs := make(chan identity.OrgID, 10), make(chan error, 1)
			go func() { endedErrs <- signals.Listen(ctx, func(org identity.OrgID) { heard <- org }) }()
			silence(heard)
			stop()
			select {
			case err := <-endedErrs:
				assert.NoError(t, err)
			case <-time.After(proof.Patience):
				t.Fatal("it does not end")
			}
		}
		proxy := fixture.NewProxy(t, u.Host)
		ends(proxy.Addr(), func(heard <-chan identity.OrgID) {
			<-heard
			proxy.Swallow(true)
		})
		mute, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and never says a word
		require.NoError(t, err)
		defer mute.Close()
		ends(mute.Addr().String(), func(<-chan identity.OrgID) {
			conn, err := mute.Accept()
			require.NoError(t, err)
			t.Cleanup(func() { conn.Close() })
		})
	})
}
