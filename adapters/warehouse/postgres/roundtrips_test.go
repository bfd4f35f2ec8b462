package postgres_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/postgres"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/require"
)

// counted is a connection that counts how often its server was waited for after something was said.
type counted struct {
	net.Conn
	said  atomic.Bool
	trips *atomic.Int64
}

func (c *counted) Write(b []byte) (int, error) {
	c.said.Store(true)
	return c.Conn.Write(b)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.said.Swap(false) {
		c.trips.Add(1)
	}
	return n, err
}

// counting is a network all of whose connections count into one number.
type counting struct {
	warehouse.Network
	trips *atomic.Int64
}

func (n counting) Dial(ctx context.Context, addresses []netip.AddrPort) (net.Conn, error) {
	c, err := n.Network.Dial(ctx, addresses)
	if err != nil {
		return nil, err
	}
	return &counted{Conn: c, trips: n.trips}, nil
}

// TestRoundTrips compares how often a call waits for the server with what the bare driver does to connect and
// select: over a network that is what a call takes.
func TestRoundTrips(t *testing.T) {
	s := shared(t)
	target := s.target(t, nil)
	var trips atomic.Int64
	took := func(call func() error) int64 {
		t.Helper()
		trips.Store(0)
		require.NoError(t, call())
		return trips.Load()
	}
	config, err := pgconn.ParseConfig(fmt.Sprintf("host=127.0.0.1 port=%d user=reader password=%s dbname=postgres "+
		"sslmode=require", s.port, warehouses.Canary))
	require.NoError(t, err)
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &counted{Conn: c, trips: &trips}, err
	}
	bare := took(func() error {
		c, err := pgconn.ConnectConfig(t.Context(), config)
		if err != nil {
			return err
		}
		defer c.Close(t.Context())
		_, err = c.Exec(t.Context(), "SELECT 1").ReadAll()
		return err
	})
	w := postgres.New(func(target ports.Target, end time.Time) warehouse.Network {
		return counting{guard(target, end), &trips}
	})
	for name, tt := range map[string]struct {
		more int64
		call func() error
	}{
		"a probe": {0, func() error {
			if f := w.Probe(t.Context(), target).Failure(); f != "" {
				return f
			}
			return nil
		}},
		"a page of tables": {0, func() error {
			_, err := w.Tables(t.Context(), target, connection.TableQuery{Limit: 10})
			return err
		}},
		"a preview": {0, func() error {
			_, err := w.Preview(t.Context(), target, connection.PreviewQuery{Table: ref("kinds"), Rows: 3})
			return err
		}},
		"a preview with a row estimate, in the same session": {1, func() error {
			_, err := w.Preview(t.Context(), target, connection.PreviewQuery{Table: ref("kinds"), Rows: 3,
				Estimate: true})
			return err
		}},
	} {
		if got := took(tt.call); got != bare+tt.more {
			t.Errorf("%s takes %d round trips, and the bare driver %d", name, got, bare)
		}
	}
}
