package contract

import (
	"encoding/json"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/fixture"
)

// WarehouseTricks throws two hundred credentials at a kind of warehouse that has hosts, those that a schema would refuse
// left out: none makes it open a socket where no tenant's host may lead. The username is what could be taken
// for a part of the address in the kind's own way of writing one.
func WarehouseTricks(t *testing.T, kind connection.Kind, w ports.Warehouse, username string) {
	var accepted atomic.Int32
	port := fixture.Listener(t, func(net.Conn) { accepted.Add(1) })
	r := rand.New(rand.NewPCG(7, 7))
	for tried := 0; tried < 200; {
		text, err := json.Marshal(map[string]any{
			"host": HostTrick(r, port), "port": port, "database": HostTrick(r, port) + "x", "username": username, "tls": "disable",
		})
		must(t, err)
		c, err := connection.ParseCredential(kind, text)
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
