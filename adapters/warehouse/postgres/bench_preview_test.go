package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/contract"
)

// BenchmarkPreview compares the preview of a table, directly and through a child, with what the bare
// driver takes to connect and select the same. The server is on loopback: over a network the round
// trips outweigh the rest.
func BenchmarkPreview(b *testing.B) {
	s, err := start()
	if err != nil {
		b.Fatal(err)
	}
	t := &testing.T{} // which rigs are made for; only failures use it
	to := s.target(t, nil)
	address := fmt.Sprintf("host=127.0.0.1 port=%d user=reader password=%s dbname=postgres sslmode=require", s.port, contract.WarehouseCanary)
	bare := func() {
		c, err := pgconn.Connect(b.Context(), address)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Exec(b.Context(), `SELECT left(id::text, 256), left(name::text, 256), left(price::text, 256) FROM shop.kinds LIMIT 3`).ReadAll(); err != nil {
			b.Fatal(err)
		}
		if err := c.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	runner, err := confine.New(confine.DefaultLimits(), 4, program, childMode)
	if err != nil {
		b.Fatal(err)
	}
	defer runner.Close()
	for name, w := range map[string]ports.Warehouse{"direct": direct(t), "child": warehouse.NewConfined(runner.Run)} {
		b.Run(name, func(b *testing.B) {
			var alone time.Duration
			for b.Loop() { // by turns, for the machine is not the same at all times
				begun := time.Now()
				bare()
				alone += time.Since(begun)
				if _, err := w.Preview(b.Context(), to, connection.TableRef{Schema: "shop", Name: "kinds"}, 3); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((b.Elapsed()-alone).Seconds()/alone.Seconds(), "of-the-driver")
		})
	}
}
