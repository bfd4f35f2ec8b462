package postgres_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// BenchmarkWarehouse compares a probe and a preview, directly and through a child, with what the bare driver
// takes to connect and select: each round does all of them, in turn, so that what else the machine does hits
// all alike, and the ratios of their medians are reported. On loopback the server's work on its catalogue
// shows; two milliseconds away, as in the next data centre, the round trips do.
func BenchmarkWarehouse(b *testing.B) {
	s, err := start()
	require.NoError(b, err)
	b.Run("loopback", func(b *testing.B) { compare(b, s, s.port) })
	b.Run("2ms", func(b *testing.B) {
		proxy := fixture.NewProxy(b, fmt.Sprintf("127.0.0.1:%d", s.port))
		proxy.Delay(2 * time.Millisecond)
		_, port, err := net.SplitHostPort(proxy.Addr())
		require.NoError(b, err)
		number, err := strconv.ParseUint(port, 10, 16)
		require.NoError(b, err)
		compare(b, s, uint16(number))
	})
}

func compare(b *testing.B, s *server, port uint16) {
	t := &testing.T{} // which rigs are made for; only failures use it
	target := s.target(t, map[string]any{"port": port})
	confinedWarehouse := warehouses.Confined(b)
	bare := func(sql string) func(context.Context) {
		return func(ctx context.Context) {
			address := fmt.Sprintf("host=127.0.0.1 port=%d user=reader password=%s dbname=postgres sslmode=require",
				port, warehouses.Canary)
			c, err := pgconn.Connect(ctx, address)
			require.NoError(b, err)
			if _, err := c.Exec(ctx, sql).ReadAll(); err != nil {
				b.Fatal(err)
			}
			require.NoError(b, c.Close(ctx))
		}
	}
	probe := func(w ports.Warehouse) func(context.Context) {
		return func(ctx context.Context) {
			if f := w.Probe(ctx, target).Failure(); f != "" {
				b.Fatal(f)
			}
		}
	}
	preview := func(w ports.Warehouse) func(context.Context) {
		return func(ctx context.Context) {
			if _, err := w.Preview(ctx, target, connection.PreviewQuery{Table: ref("kinds"), Rows: 3}); err != nil {
				b.Fatal(err)
			}
		}
	}
	// A child is started ahead while others run, except for a job that follows at once.
	ways := []struct {
		name, to string // to which it is compared; empty: to none
		do       func(context.Context)
		took     []time.Duration
	}{
		{name: "bare", do: bare(`SELECT 1`)},
		{name: "probe", to: "bare", do: probe(direct(t))},
		{name: "child", to: "bare", do: probe(confinedWarehouse)},
		{name: "child-at-once", to: "bare", do: probe(confinedWarehouse)},
		{name: "bare-preview", do: bare(`SELECT left(id::text, 256), left(name::text, 256), left(price::text, 256)
			FROM shop.kinds LIMIT 3`)},
		{name: "preview", to: "bare-preview", do: preview(direct(t))},
		{name: "child-preview", to: "bare-preview", do: preview(confinedWarehouse)},
	}
	for b.Loop() {
		for i := range ways {
			begin := time.Now()
			ways[i].do(b.Context())
			ways[i].took = append(ways[i].took, time.Since(begin))
		}
	}
	medians := map[string]float64{}
	for _, way := range ways {
		slices.Sort(way.took)
		medians[way.name] = way.took[len(way.took)/2].Seconds()
	}
	for _, way := range ways {
		b.ReportMetric(medians[way.name]*1000, way.name+"-ms")
		if way.to != "" {
			b.ReportMetric(medians[way.name]/medians[way.to], way.name+"/"+way.to)
		}
	}
}
