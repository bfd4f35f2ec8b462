package postgres_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/contract"
)

// BenchmarkProbe compares a probe, directly and through a child, with what the bare driver takes to
// connect and select: each round does all of them, in turn, so that what else the machine does hits all
// alike, and the ratios of their medians are reported. On loopback the server's work on its catalogue shows;
// two milliseconds away, as in the next data centre, the round trips do, of which both have as many.
func BenchmarkProbe(b *testing.B) {
	s, err := start()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("loopback", func(b *testing.B) { compare(b, s, s.port) })
	b.Run("2ms", func(b *testing.B) { compare(b, s, delayed(b, s.port, time.Millisecond)) })
}

// delayed forwards connections to a port of 127.0.0.1, each way by so much later.
func delayed(b *testing.B, port uint16, by time.Duration) uint16 {
	type chunk struct {
		due  time.Time
		text []byte
	}
	forward := func(to, from net.Conn) {
		chunks := make(chan chunk, 1000)
		go func() {
			defer close(chunks)
			for {
				text := make([]byte, 16<<10)
				n, err := from.Read(text)
				if err != nil {
					return
				}
				chunks <- chunk{time.Now().Add(by), text[:n]}
			}
		}()
		for c := range chunks {
			time.Sleep(time.Until(c.due))
			if _, err := to.Write(c.text); err != nil {
				from.Close()
			}
		}
		to.Close()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				near.Close()
				continue
			}
			go forward(far, near)
			go forward(near, far)
		}
	}()
	return l.Addr().(*net.TCPAddr).AddrPort().Port()
}

func compare(b *testing.B, s *server, port uint16) {
	t := &testing.T{} // which rigs are made for; only failures use it
	to := s.target(t, map[string]any{"port": port})
	runner, err := confine.New(confine.DefaultLimits(), 4, program, childMode)
	if err != nil {
		b.Fatal(err)
	}
	defer runner.Close()
	bare := func(ctx context.Context) {
		address := fmt.Sprintf("host=127.0.0.1 port=%d user=reader password=%s dbname=postgres sslmode=require", port, contract.WarehouseCanary)
		c, err := pgconn.Connect(ctx, address)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Exec(ctx, "SELECT 1").ReadAll(); err != nil {
			b.Fatal(err)
		}
		if err := c.Close(ctx); err != nil {
			b.Fatal(err)
		}
	}
	probe := func(w ports.Warehouse) func(context.Context) {
		return func(ctx context.Context) {
			if f := w.Probe(ctx, to).Failure(); f != "" {
				b.Fatal(f)
			}
		}
	}
	confined := warehouse.NewConfined(runner.Run)
	ways := []struct {
		name string
		do   func(context.Context)
		took []time.Duration
	}{
		{name: "bare", do: bare},
		{name: "direct", do: probe(direct(t))},
		{name: "child", do: probe(confined)},
		{name: "child-tables", do: func(ctx context.Context) {
			if _, err := confined.Tables(ctx, to, connection.TableQuery{Limit: 10}); err != nil {
				b.Fatal(err)
			}
		}},
	}
	for b.Loop() {
		for i := range ways {
			begun := time.Now()
			ways[i].do(b.Context())
			ways[i].took = append(ways[i].took, time.Since(begun))
		}
	}
	median := func(i int) float64 {
		slices.Sort(ways[i].took)
		return ways[i].took[len(ways[i].took)/2].Seconds()
	}
	for i, way := range ways {
		b.ReportMetric(median(i)*1000, way.name+"-ms")
		if i > 0 {
			b.ReportMetric(median(i)/median(0), way.name+"/bare")
		}
	}
}
