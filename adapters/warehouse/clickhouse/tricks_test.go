package clickhouse_test

import (
	"encoding/json"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/contract"
)

// TestNoTrickMakesTheChildOpenASocket throws two hundred credentials at the child, those that a
// schema would refuse left out.
func TestNoTrickMakesTheChildOpenASocket(t *testing.T) {
	w := confined(t)
	var accepted atomic.Int32
	port := serve(t, func(net.Conn) { accepted.Add(1) })
	r := rand.New(rand.NewPCG(7, 7))
	for tried := 0; tried < 200; {
		text, err := json.Marshal(map[string]any{
			"host": contract.HostTrick(r, port), "port": port, "database": contract.HostTrick(r, port) + "x",
			"username": "u@127.0.0.1:1/?x#y", "tls": "disable",
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := connection.ParseCredential(connection.ClickHouse, text)
		if err != nil {
			continue
		}
		tried++
		limits := ports.DefaultLimits()
		limits.Connect = 200 * time.Millisecond // for names that nobody resolves
		got := w.Probe(t.Context(), ports.Target{Credential: c, Limits: limits})
		if f := got.Failure(); f != connection.NetworkNotAllowed && f != connection.DNSFailed {
			t.Errorf("%q: failure = %q", c.Text(connection.FieldHost), f)
		}
	}
	if n := accepted.Load(); n != 0 {
		t.Errorf("%d connections were accepted", n)
	}
}
