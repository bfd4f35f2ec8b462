package clickhouse_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/clickhouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/contract"
	"github.com/atrium-hq/atrium/test/fixture"
)

func hostile(t *testing.T, open func(*testing.T) ports.Warehouse) contract.HostileRig {
	return contract.HostileRig{
		Open: open,
		Target: func(t *testing.T, host string, port uint16) ports.Target {
			return targetOf(t, map[string]any{"host": host, "port": port, "database": "d", "username": "u", "password": contract.WarehouseCanary, "tls": "disable"})
		},
		Scripts: slices.Concat(scripts(), refusals(), encrypted(t)),
	}
}

func TestHostileServers(t *testing.T) {
	rig := hostile(t, direct)
	rig.Resolving = func(_ *testing.T, lookup func(context.Context, string) ([]netip.Addr, error)) ports.Warehouse {
		return clickhouse.New(func(to ports.Target, end time.Time) warehouse.Network {
			return egress.New(egress.Rules{
				Allow: to.Egress.Allow, Port: func(uint16) bool { return true }, Connect: to.Limits.Connect, Deadline: end, Bytes: to.Limits.Bytes, Resolve: lookup,
			})
		})
	}
	contract.HostileWarehouse(t, rig)
}

func TestHostileServersThroughTheChild(t *testing.T) {
	contract.HostileWarehouse(t, hostile(t, confined))
}

// answer hears a request and says something.
func answer(c io.ReadWriter, text string) {
	_, _ = c.Read(make([]byte, 8192))
	_, _ = io.WriteString(c, text)
}

func hold(c io.ReadWriter) { _, _ = io.Copy(io.Discard, c) }

func forever(c io.Writer, text string) {
	b := bytes.Repeat([]byte(text), 4096/len(text))
	for {
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

// response frames a body.
func response(status, headers, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s", status, headers, len(body), body)
}

// in is the answer to the first statement.
func in(version, readonly, databases, total string) string {
	return response("200 OK", "", fmt.Sprintf(`{"data": [["%s", "%s", "%s", "%s"]]}`, version, readonly, databases, total))
}

var (
	late    = []connection.Code{connection.ConnectTimeout, connection.QueryTimeout}
	foreign = []connection.Code{connection.NotThisDatabase}
	large   = []connection.Code{connection.ResponseTooLarge}
	lost    = []connection.Code{connection.HostUnreachable}
	passed  = []connection.Code{""}
)

// says answers requests in turn, and then holds.
func says(answers ...string) func(io.ReadWriter) {
	return func(c io.ReadWriter) {
		for _, text := range answers {
			answer(c, text)
		}
		hold(c)
	}
}

func scripts() []contract.HostileScript {
	welcome := in("26.1.2.3", "2", "1", "1")
	never := func(head, text string) func(io.ReadWriter) {
		return func(c io.ReadWriter) { answer(c, head); forever(c, text) }
	}
	return []contract.HostileScript{
		{Name: "it is what it says", Plain: true, Codes: passed, Serve: says(welcome, response("200 OK", "", `{"data": [["t"]]}`))},
		{Name: "it redirects to a private address", Plain: true, Codes: foreign,
			Serve: says("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.2:1/\r\nContent-Length: 0\r\n\r\n")},
		{Name: "its status has no end", Codes: large, Serve: never("HTTP/1.1 200 ", "OK")},
		{Name: "its headers have no end", Codes: large, Serve: never("HTTP/1.1 200 OK\r\n", "X-A: b\r\n")},
		{Name: "its header has no end", Codes: large, Serve: never("HTTP/1.1 200 OK\r\nX-A: ", "b")},
		{Name: "it has one row without an end", Codes: large, Serve: never("HTTP/1.1 200 OK\r\n\r\n{\"data\": [[\"", "x")},
		{Name: "it has rows without an end", Codes: large, Serve: never("HTTP/1.1 200 OK\r\n\r\n{\"data\": [", `["x"],`)},
		{Name: "it has a value of 100 MB", Codes: large, Serve: never("HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n{\"data\": [[\"", "x")},
		{Name: "it claims to have more than there is", Codes: late, Serve: says("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n{}")},
		{Name: "its chunks have no end", Codes: append(large, foreign...), Serve: never("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n")},
		{Name: "its chunk claims to be endless", Codes: append(large, foreign...), Serve: never("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", "x")},
		{Name: "its chunk has no number", Plain: true, Codes: foreign, Serve: says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")},
		{Name: "it is nested without an end", Codes: append(large, foreign...), Serve: never("HTTP/1.1 200 OK\r\n\r\n", "[")},
		{Name: "it is nested deeply", Plain: true, Codes: foreign, Serve: says(response("200 OK", "", strings.Repeat("[", 500_000)))},
		{Name: "it continues for ever", Codes: append(large, append(late, foreign...)...), Serve: never("", "HTTP/1.1 100 Continue\r\n\r\n")},
		{Name: "it says nothing in 200", Plain: true, Codes: foreign, Serve: says(response("200 OK", "", ""))},
		{Name: "it talks of something else", Plain: true, Codes: foreign, Serve: says(response("200 OK", "", `{"data": {"a": 1}}`))},
		{Name: "it has no data", Plain: true, Codes: foreign, Serve: says(response("200 OK", "", `{}`))},
		{Name: "it has too few columns", Plain: true, Codes: foreign, Serve: says(response("200 OK", "", `{"data": [["1", "2"]]}`))},
		{Name: "it has nothing in its columns", Plain: true, Codes: foreign, Serve: says(response("200 OK", "", `{"data": [[null, null, null, null]]}`))},
		{Name: "it has numbers for texts", Plain: true, Codes: foreign, Serve: says(response("200 OK", "", `{"data": [[1, 2, 3, 4]]}`))},
		{Name: "it drips its answer", Codes: late, Serve: func(c io.ReadWriter) {
			answer(c, "HTTP/1.1 200 OK\r\n\r\n")
			for {
				if _, err := io.WriteString(c, " "); err != nil {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		}},
		{Name: "it resets in the middle of the answer", Plain: true, Codes: lost, Serve: func(c io.ReadWriter) {
			answer(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
			time.Sleep(20 * time.Millisecond) // so that the bytes arrive before the reset, which overtakes them
			contract.Reset(c)
		}},
		{Name: "it goes in the middle of the answer", Plain: true, Codes: lost, Serve: func(c io.ReadWriter) {
			answer(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
		}},
		{Name: "it goes after the first answer", Plain: true, Codes: lost, Serve: func(c io.ReadWriter) { answer(c, welcome); _, _ = c.Read(make([]byte, 8192)) }},
		{Name: "it answers once and says no more", Codes: late, Serve: says(welcome)},
		{Name: "its second answer is none", Plain: true, Codes: foreign, Serve: says(welcome, response("404 Not Found", "", "not here"))},
		{Name: "it shows no database", Plain: true, Codes: []connection.Code{connection.DatabaseDeniedOrMissing}, Serve: says(in("26.1", "2", "0", "1"))},
	}
}

// refusals are errors as versions tell them that the suite's own server is not.
func refusals() []contract.HostileScript {
	header := func(name string, status string, number int, code connection.Code) contract.HostileScript {
		return contract.HostileScript{Name: name, Plain: true, Codes: []connection.Code{code},
			Serve: says(response(status, fmt.Sprintf("X-ClickHouse-Exception-Code: %d\r\n", number), "Code: 60. DB::Exception: c4n4ry (X)"))}
	}
	return []contract.HostileScript{
		header("it refuses the user as it does since version 20", "403 Forbidden", 516, connection.AuthFailed),
		header("it denies the catalogue", "403 Forbidden", 497, connection.DatabaseDeniedOrMissing),
		header("it lacks a function", "404 Not Found", 46, connection.UnsupportedVersion),
		header("it has an error of its own", "500 Internal Server Error", 99999, connection.Internal),
		header("it has a constraint on our limits", "500 Internal Server Error", 452, connection.AuthRejected),
		{Name: "its error is no number", Plain: true, Codes: foreign, Serve: says(response("500 Oops", "X-ClickHouse-Exception-Code: many\r\n", ""))},
		{Name: "its error has no number", Plain: true, Codes: foreign, Serve: says(response("500 Oops", "", "Code: "))},
		{Name: "its error is in the middle of a text", Plain: true, Codes: foreign, Serve: says(response("500 Oops", "", "see Code: 516"))},
		{Name: "there is no server behind its proxy", Plain: true, Codes: []connection.Code{connection.ServerStarting}, Serve: says(response("503 Service Unavailable", "", "no upstream"))},
		{Name: "it wants TLS and says so", Plain: true, Codes: []connection.Code{connection.TLSRequired}, Serve: func(c io.ReadWriter) { answer(c, "\x15\x03\x01\x00\x02\x02\x16") }},
	}
}

func encrypted(t *testing.T) []contract.HostileScript {
	authority := fixture.NewAuthority(t)
	serverTLS := authority.ServerTLS(t, "127.0.0.1")
	secured := func(to ports.Target) ports.Target {
		c := to.Credential
		to.Credential = targetOf(t, map[string]any{
			"host": c.Text("host"), "port": c.Port(), "database": "d", "username": "u", "password": contract.WarehouseCanary, "tls": "verify_full", "tls_ca": authority.PEM,
		}).Credential
		return to
	}
	over := func(config *tls.Config, then func(io.ReadWriter)) func(io.ReadWriter) {
		return func(c io.ReadWriter) {
			tc := tls.Server(wrap{c}, config)
			if tc.Handshake() == nil {
				then(tc)
			}
		}
	}
	old := serverTLS.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	unsupported := []connection.Code{connection.TLSUnsupported}
	return []contract.HostileScript{
		{Name: "it is an SSH server where TLS was meant", Plain: true, To: secured, Codes: foreign, Serve: func(c io.ReadWriter) {
			_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.6\r\n")
			hold(c)
		}},
		{Name: "it has no TLS", Plain: true, To: secured, Codes: unsupported, Serve: says("HTTP/1.1 400 Bad Request\r\n\r\n")},
		{Name: "it says nothing to TLS", To: secured, Codes: late, Serve: hold},
		{Name: "it goes when TLS begins", Plain: true, To: secured, Codes: unsupported, Serve: func(c io.ReadWriter) { _, _ = c.Read(make([]byte, 512)) }},
		{Name: "it has TLS of another authority", Plain: true, To: secured, Codes: []connection.Code{connection.TLSUntrusted},
			Serve: over(fixture.NewAuthority(t).ServerTLS(t, "127.0.0.1"), hold)},
		{Name: "it has TLS for another name", Plain: true, To: secured, Codes: []connection.Code{connection.TLSNameMismatch},
			Serve: over(authority.ServerTLS(t, "db.example.com"), hold)},
		{Name: "it has TLS of years ago", Plain: true, To: secured, Codes: unsupported, Serve: over(old, hold)},
		{Name: "it talks nonsense below TLS", Plain: true, To: secured, Codes: foreign, Serve: over(serverTLS, says("nonsense\r\n"))},
		{Name: "it goes below TLS", Plain: true, To: secured, Codes: lost, Serve: over(serverTLS, func(c io.ReadWriter) { _, _ = c.Read(make([]byte, 8192)) })},
	}
}

// wrap is a script's connection for tls.Server, which wants more of it than reading and writing.
type wrap struct{ io.ReadWriter }

func (wrap) Close() error                     { return nil }
func (wrap) LocalAddr() net.Addr              { return nil }
func (wrap) RemoteAddr() net.Addr             { return nil }
func (wrap) SetDeadline(time.Time) error      { return nil }
func (wrap) SetReadDeadline(time.Time) error  { return nil }
func (wrap) SetWriteDeadline(time.Time) error { return nil }
