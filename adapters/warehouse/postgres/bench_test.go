package postgres_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/contract"
)

// BenchmarkProbe compares a probe, directly and through a child, with what the bare driver takes to
// connect and select. The server is on loopback: over a network the round trips outweigh the child.
func BenchmarkProbe(b *testing.B) {
	s, err := start()
	if err != nil {
		b.Fatal(err)
	}
	t := &testing.T{} // which rigs are made for; only failures use it
	to := s.target(t, nil)
	probe := func(b *testing.B, w ports.Warehouse) {
		for b.Loop() {
			if f := w.Probe(b.Context(), to).Failure(); f != "" {
				b.Fatal(f)
			}
		}
	}
	b.Run("bare", func(b *testing.B) {
		address := fmt.Sprintf("host=127.0.0.1 port=%d user=reader password=%s dbname=postgres sslmode=require", s.port, contract.WarehouseCanary)
		for b.Loop() {
			c, err := pgconn.Connect(b.Context(), address)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := c.Exec(b.Context(), "SELECT 1").ReadAll(); err != nil {
				b.Fatal(err)
			}
			if err := c.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("direct", func(b *testing.B) { probe(b, direct(t)) })
	b.Run("child", func(b *testing.B) {
		runner, err := confine.New(confine.DefaultLimits(), 4, program, childMode)
		if err != nil {
			b.Fatal(err)
		}
		defer runner.Close()
		probe(b, warehouse.NewConfined(runner.Run))
	})
	b.Run("child, tables", func(b *testing.B) {
		runner, err := confine.New(confine.DefaultLimits(), 4, program, childMode)
		if err != nil {
			b.Fatal(err)
		}
		defer runner.Close()
		w := warehouse.NewConfined(runner.Run)
		for b.Loop() {
			if _, err := w.Tables(b.Context(), to, connection.TableQuery{Limit: 10}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
