package clickhouse_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/clickhouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func hostile(t *testing.T, open func(*testing.T) ports.Warehouse) warehouses.HostileHarness {
	return warehouses.HostileHarness{
		Open: open,
		Target: func(t *testing.T, host string, port uint16) ports.Target {
			return warehouses.HostTarget(t, connection.ClickHouse, map[string]any{
				"host": host, "port": port, "database": "d", "username": "u", "password": warehouses.Canary,
				"tls": "disable",
			}, nil)
		},
		Scripts: slices.Concat(
			warehouses.HTTPScripts(func(proceedOne func(io.ReadWriter)) func(io.ReadWriter) { return proceedOne }),
			scripts(), refusals(), encrypted(t)),
	}
}

func TestHostileServers(t *testing.T) {
	harness := hostile(t, direct)
	harness.Resolving = func(_ *testing.T, lookup func(context.Context, string) ([]netip.Addr, error)) ports.Warehouse {
		return clickhouse.New(func(target ports.Target, end time.Time) warehouse.Network {
			return egress.New(egress.Rules{
				Allow: target.Egress.Allow, Port: func(uint16) bool { return true }, Connect: target.Limits.Connect,
				Deadline: end, Bytes: target.Limits.Bytes, Resolve: lookup,
			})
		})
	}
	warehouses.Hostile(t, harness)
}

func TestHostileServersThroughTheChild(t *testing.T) {
	warehouses.Hostile(t, hostile(t, warehouses.Confined))
}

// answer hears a request and says something.
func answer(c io.ReadWriter, text string) {
	_, _ = c.Read(make([]byte, 8192))
	_, _ = io.WriteString(c, text)
}

func hold(c io.ReadWriter) { _, _ = io.Copy(io.Discard, c) }

// in is the answer to the first statement.
func in(version, readonly, databases, total string) string {
	return warehouses.HTTPResponse("200 OK", "", fmt.Sprintf(`{"data": [["%s", "%s", "%s", "%s"]]}`, version, readonly,
		databases, total))
}

var (
	late    = []connection.Code{connection.ConnectTimeout, connection.QueryTimeout}
	foreign = []connection.Code{connection.NotThisDatabase}
	lost    = []connection.Code{connection.HostUnreachable}
	passed  = []connection.Code{""}
)

func scripts() []warehouses.HostileScript {
	welcome := in("26.1.2.3", "2", "1", "1")
	return []warehouses.HostileScript{
		{Name: "it is what it says", Plain: true, Codes: passed,
			Serve: warehouses.HTTPSays(welcome, warehouses.HTTPResponse("200 OK", "", `{"data": [["t"]]}`))},
		{Name: "it has too few columns", Plain: true, Codes: foreign,
			Serve: warehouses.HTTPSays(warehouses.HTTPResponse("200 OK", "", `{"data": [["1", "2"]]}`))},
		{Name: "it has nothing in its columns", Plain: true, Codes: foreign,
			Serve: warehouses.HTTPSays(warehouses.HTTPResponse("200 OK", "", `{"data": [[null, null, null, null]]}`))},
		{Name: "it has numbers for texts", Plain: true, Codes: foreign,
			Serve: warehouses.HTTPSays(warehouses.HTTPResponse("200 OK", "", `{"data": [[1, 2, 3, 4]]}`))},
		{Name: "it resets in the middle of the answer", Plain: true, Codes: lost, Serve: func(c io.ReadWriter) {
			answer(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
			warehouses.Reset(c)
		}},
		{Name: "it goes after the first answer", Plain: true, Codes: lost,
			Serve: func(c io.ReadWriter) { answer(c, welcome); _, _ = c.Read(make([]byte, 8192)) }},
		{Name: "it answers once and says no more", Codes: late, Serve: warehouses.HTTPSays(welcome)},
		{Name: "its second answer is none", Plain: true, Codes: foreign,
			Serve: warehouses.HTTPSays(welcome, warehouses.HTTPResponse("404 Not Found", "", "not here"))},
		{Name: "it shows no database", Plain: true, Codes: []connection.Code{connection.DatabaseDeniedOrMissing},
			Serve: warehouses.HTTPSays(in("26.1", "2", "0", "1"))},
	}
}

// refusals are errors as versions tell them that the suite's own server is not.
func refusals() []warehouses.HostileScript {
	header := func(name string, status string, number int, code connection.Code) warehouses.HostileScript {
		return warehouses.HostileScript{Name: name, Plain: true, Codes: []connection.Code{code},
			Serve: warehouses.HTTPSays(warehouses.HTTPResponse(status,
				fmt.Sprintf("X-ClickHouse-Exception-Code: %d\r\n", number), "Code: 60. DB::Exception: c4n4ry (X)"))}
	}
	return []warehouses.HostileScript{
		header("it refuses the user as it does since version 20", "403 Forbidden", 516, connection.AuthFailed),
		header("it denies the catalogue", "403 Forbidden", 497, connection.DatabaseDeniedOrMissing),
		header("it lacks a function", "404 Not Found", 46, connection.UnsupportedVersion),
		header("it has an error of its own", "500 Internal Server Error", 99999, connection.Internal),
		header("it has a constraint on our limits", "500 Internal Server Error", 452, connection.AuthRejected),
		{Name: "its error is no number", Plain: true, Codes: foreign,
			Serve: warehouses.HTTPSays(
				warehouses.HTTPResponse("500 Oops", "X-ClickHouse-Exception-Code: many\r\n", ""))},
		{Name: "its error has no number", Plain: true, Codes: foreign,
			Serve: warehouses.HTTPSays(warehouses.HTTPResponse("500 Oops", "", "Code: "))},
		{Name: "its error is in the middle of a text", Plain: true, Codes: foreign,
			Serve: warehouses.HTTPSays(warehouses.HTTPResponse("500 Oops", "", "see Code: 516"))},
		{Name: "it wants TLS and says so", Plain: true, Codes: []connection.Code{connection.TLSRequired},
			Serve: func(c io.ReadWriter) { answer(c, "\x15\x03\x01\x00\x02\x02\x16") }},
	}
}

func encrypted(t *testing.T) []warehouses.HostileScript {
	authority := fixture.NewAuthority(t)
	serverTLS := authority.ServerTLS(t, "127.0.0.1")
	securedTarget := func(target ports.Target) ports.Target {
		c := target.Credential
		target.Credential = warehouses.HostTarget(t, connection.ClickHouse, map[string]any{
			"host": c.Text("host"), "port": c.Port(), "database": "d", "username": "u",
			"password": warehouses.Canary, "tls": "verify_full", "tls_ca": authority.PEM,
		}, nil).Credential
		return target
	}
	old := serverTLS.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	unsupportedCodes := []connection.Code{connection.TLSUnsupported}
	return []warehouses.HostileScript{
		{Name: "it is an SSH server where TLS was meant", Plain: true, To: securedTarget, Codes: foreign,
			Serve: func(c io.ReadWriter) {
				_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.6\r\n")
				hold(c)
			}},
		{Name: "it has no TLS", Plain: true, To: securedTarget, Codes: unsupportedCodes,
			Serve: warehouses.HTTPSays("HTTP/1.1 400 Bad Request\r\n\r\n")},
		{Name: "it says nothing to TLS", To: securedTarget, Codes: late, Serve: hold},
		{Name: "it goes when TLS begins", Plain: true, To: securedTarget, Codes: unsupportedCodes,
			Serve: func(c io.ReadWriter) { _, _ = c.Read(make([]byte, 512)) }},
		{Name: "it has TLS of another authority", Plain: true, To: securedTarget,
			Codes: []connection.Code{connection.TLSUntrusted},
			Serve: warehouses.OverTLS(fixture.NewAuthority(t).ServerTLS(t, "127.0.0.1"), hold)},
		{Name: "it has TLS for another name", Plain: true, To: securedTarget,
			Codes: []connection.Code{connection.TLSNameMismatch},
			Serve: warehouses.OverTLS(authority.ServerTLS(t, "db.example.com"), hold)},
		{Name: "it has TLS of years ago", Plain: true, To: securedTarget, Codes: unsupportedCodes,
			Serve: warehouses.OverTLS(old, hold)},
		{Name: "it talks nonsense below TLS", Plain: true, To: securedTarget, Codes: foreign,
			Serve: warehouses.OverTLS(serverTLS, warehouses.HTTPSays("nonsense\r\n"))},
		{Name: "it goes below TLS", Plain: true, To: securedTarget, Codes: lost,
			Serve: warehouses.OverTLS(serverTLS, func(c io.ReadWriter) { _, _ = c.Read(make([]byte, 8192)) })},
	}
}
