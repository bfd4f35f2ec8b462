package warehouses

import (
	"encoding/json"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// Tricks tries 200 credentials with a kind of warehouse that has hosts, except those that its schema refuses.
// None may make it open a socket to a forbidden address. The username could be mistaken for a part of the address in
// the kind's notation. All are tried directly, and every fifth through the child, a process for each; in make prove all
// are tried both ways.
func Tricks(t *testing.T, kind connection.Kind, direct, confinedWarehouse ports.Warehouse, username string) {
	var acceptedCount atomic.Int32
	port := fixture.Listener(t, func(net.Conn) { acceptedCount.Add(1) })
	r := rand.New(rand.NewPCG(7, 7))
	for attempts := 0; attempts < 200; {
		text, err := json.Marshal(map[string]any{
			"host": fixture.HostTrick(r, port), "port": port, "database": fixture.HostTrick(r, port) + "x",
			"username": username, "tls": "disable",
		})
		must(t, err)
		c, err := connection.ParseCredential(kind, text)
		if err != nil {
			continue
		}
		attempts++
		limits := ports.DefaultLimits()
		limits.Connect = 200 * time.Millisecond // for names that do not resolve
		ways := []ports.Warehouse{direct}
		if attempts%proof.Sample(5, 1) == 0 {
			ways = append(ways, confinedWarehouse)
		}
		for _, w := range ways {
			got := w.Probe(t.Context(), ports.Target{Credential: c, Limits: limits})
			if f := got.Failure(); f != connection.NetworkNotAllowed && f != connection.DNSFailed {
				t.Errorf("%q: failure = %q", c.Text(connection.FieldHost), f)
			}
		}
	}
	assert.Equal(t, "connections were accepted", acceptedCount.Load(), 0)
}
