package warehouses

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Hosted is a kind of warehouse that its vendor hosts, at the vendor's host names, which no credential can change. A
// test server replaces the vendor's, with a certificate of the test's authority.
type Hosted struct {
	Kind connection.Kind
	// NewAt creates the kind such that it finds the vendor with StandIn, on any port, trusts only roots, and resolves
	// names with lookup, or with DNS if lookup is nil.
	NewAt func(roots *x509.CertPool, lookup func(context.Context, string) ([]netip.Addr, error)) ports.Warehouse

	// Main sets these.
	Authority *fixture.Authority
	Key       *rsa.PrivateKey // of every account, because generating one is slow

	program string // what child processes run
}

// Main is the TestMain of a kind's package. It does not return. The second argument of a child is the authority that it
// trusts.
func (h *Hosted) Main(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childArgument {
		text, err := base64.StdEncoding.DecodeString(os.Args[2])
		roots := x509.NewCertPool()
		if err != nil || !roots.AppendCertsFromPEM(text) {
			os.Exit(1)
		}
		kinds := map[connection.Kind]ports.Warehouse{h.Kind: h.NewAt(roots, nil)}
		os.Exit(confine.Serve(map[string]confine.Job{
			warehouse.JobName: {
				Do:     warehouse.Job(kinds),
				Stream: warehouse.StreamJob(kinds),
				// The test server can have any port.
				Needs: func(json.RawMessage) ports.JobNeeds { return ports.JobNeeds{Network: true} },
			},
		}, os.Stdin, os.Stdout))
	}
	h.Authority = fixture.NewAuthority(fixture.Setup{})
	var err error
	if h.Key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		panic(err)
	}
	var remove func()
	h.program, remove = fixture.Unraced()
	code := m.Run()
	remove()
	os.Exit(code)
}

// Direct opens the kind in this process.
func (h *Hosted) Direct(*testing.T) ports.Warehouse {
	return h.NewAt(h.Authority.Pool(), nil)
}

// Resolving opens the kind in this process, with the suite's resolver.
func (h *Hosted) Resolving(_ *testing.T, lookup func(context.Context, string) ([]netip.Addr, error)) ports.Warehouse {
	return h.NewAt(h.Authority.Pool(), lookup)
}

// Confined opens the kind in child processes, which end with the test.
func (h *Hosted) Confined(t *testing.T) ports.Warehouse {
	t.Helper()
	return throughChild(t, h.program, childArgument, base64.StdEncoding.EncodeToString([]byte(h.Authority.PEM)))
}

// KeyPEM returns Key in the form of a credential.
func (h *Hosted) KeyPEM(t *testing.T) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(h.Key)
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

var standIn = regexp.MustCompile(`^(?:(.+)[:.])?port-(\d+)-x$`)

// StandIn parses a test server's address from the customer-specific name in a credential. "port-8080-x" is at
// 127.0.0.1. A host can precede it, as in "localhost:port-8080-x" if names may hold colons, or "localhost.port-8080-x".
// It panics on any other name.
func StandIn(name string) (host string, port uint16) {
	found := standIn.FindStringSubmatch(name)
	n, err := strconv.ParseUint(found[2], 10, 16)
	if err != nil {
		panic(err)
	}
	if found[1] == "" {
		return "127.0.0.1", uint16(n)
	}
	return found[1], uint16(n)
}

// Unreached are the failures of the network and of TLS before a vendor's server receives a request. serve starts a
// server that authority has certified for 127.0.0.1. target returns a target at an address whose user can read.
func (h *Hosted) Unreached(serve func(t *testing.T, authority *fixture.Authority) uint16,
	target func(t *testing.T, host string, port uint16) ports.Target) []Failure {
	ours := func(t *testing.T) uint16 { return serve(t, h.Authority) }
	scriptedCount := func(script func(io.ReadWriter)) func(*testing.T) uint16 {
		return func(t *testing.T) uint16 { return listen(t, "127.0.0.1:0", script).port }
	}
	silent := func(c io.ReadWriter) { _, _ = io.Copy(io.Discard, c) }
	targetAt := func(host string, port func(*testing.T) uint16) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target { return target(t, host, port(t)) }
	}
	return []Failure{
		{Name: "a network that the org does not allow", Code: connection.NetworkNotAllowed, Step: connection.Policy,
			Target: func(t *testing.T) ports.Target {
				recipient := target(t, "127.0.0.1", ours(t))
				recipient.Egress = identity.Egress{}
				return recipient
			}},
		{Name: "a name that does not exist", Code: connection.DNSFailed, Step: connection.Resolve,
			Target: targetAt("no-such-host.example.com", ours)},
		{Name: "a port where nobody listens", Code: connection.PortClosed, Step: connection.Connect,
			Target: targetAt("127.0.0.1", func(t *testing.T) uint16 { return fixture.ClosedPort(t) })},
		{Name: "an address without a route", Code: connection.HostUnreachable, Step: connection.Connect,
			Target: targetAt("255.255.255.255", ours)},
		{Name: "a server that says nothing", Code: connection.ConnectTimeout, Step: connection.TLS,
			Target: func(t *testing.T) ports.Target {
				recipient := target(t, "127.0.0.1", scriptedCount(silent)(t))
				recipient.Limits.Connect = SilentFor
				return recipient
			}},
		{Name: "a server without TLS", Code: connection.NotThisDatabase, Step: connection.TLS,
			Target: targetAt("127.0.0.1", scriptedCount(func(c io.ReadWriter) {
				_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
				silent(c)
			}))},
		{Name: "another authority", Code: connection.TLSUntrusted, Step: connection.TLS,
			Target: targetAt("127.0.0.1", func(t *testing.T) uint16 {
				return serve(t, fixture.NewAuthority(t))
			})},
		{Name: "a certificate for another name", Code: connection.TLSNameMismatch, Step: connection.TLS,
			Target: targetAt("localhost", ours)},
	}
}

// OverTLS runs scripts on a server that the kind accepts as the vendor's.
func (h *Hosted) OverTLS(t *testing.T) func(proceedOne func(io.ReadWriter)) func(io.ReadWriter) {
	t.Helper()
	config := h.Authority.ServerTLS(t, "127.0.0.1")
	return func(proceedOne func(io.ReadWriter)) func(io.ReadWriter) { return OverTLS(config, proceedOne) }
}

// Scripts are HTTPScripts of a server that the kind accepts as the vendor's, and those of one that it must refuse.
func (h *Hosted) Scripts(t *testing.T) []HostileScript {
	t.Helper()
	return append(HTTPScripts(h.OverTLS(t)),
		HostileScript{Name: "it has TLS of another authority", Plain: true,
			Codes: []connection.Code{connection.TLSUntrusted},
			Serve: OverTLS(fixture.NewAuthority(t).ServerTLS(t, "127.0.0.1"), func(io.ReadWriter) {})},
		HostileScript{Name: "it has TLS for another name", Plain: true,
			Codes: []connection.Code{connection.TLSNameMismatch},
			Serve: OverTLS(h.Authority.ServerTLS(t, "db.example.com"), func(io.ReadWriter) {})},
	)
}
