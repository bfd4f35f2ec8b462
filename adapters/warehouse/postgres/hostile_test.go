package postgres_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/postgres"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func hostile(t *testing.T, open func(*testing.T) ports.Warehouse) warehouses.HostileHarness {
	return warehouses.HostileHarness{
		Open: open,
		Target: func(t *testing.T, host string, port uint16) ports.Target {
			return warehouses.HostTarget(t, connection.Postgres, map[string]any{
				"host": host, "port": port, "database": "d", "username": "u", "tls": "disable",
			}, nil)
		},
		Scripts: scripts(t),
	}
}

func resolving(_ *testing.T, lookup func(context.Context, string) ([]netip.Addr, error)) ports.Warehouse {
	return postgres.New(func(target ports.Target, end time.Time) warehouse.Network {
		return egress.New(egress.Rules{
			Allow: target.Egress.Allow, Port: func(uint16) bool { return true }, Connect: target.Limits.Connect,
			Deadline: end,
			Bytes:    target.Limits.Bytes, Resolve: lookup,
		})
	})
}

func TestHostileServers(t *testing.T) {
	harness := hostile(t, direct)
	harness.Resolving = resolving
	warehouses.Hostile(t, harness)
}

func TestHostileServersThroughTheChild(t *testing.T) {
	warehouses.Hostile(t, hostile(t, warehouses.Confined))
}

// message frames a message of the server's; length is what it claims to be long, -1 for the truth.
func message(kind byte, length int, body []byte) []byte {
	if length < 0 {
		length = len(body) + 4
	}
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(length)), body...)
}

func encode(messages ...pgproto3.BackendMessage) (all []byte) {
	for _, m := range messages {
		var err error
		if all, err = m.Encode(all); err != nil {
			panic(err)
		}
	}
	return all
}

// welcome lets anybody in.
func welcome() []byte {
	return encode(&pgproto3.AuthenticationOk{}, &pgproto3.ParameterStatus{Name: "server_version", Value: "15"},
		&pgproto3.ReadyForQuery{TxStatus: 'I'})
}

// say reads the client's first message and answers.
func say(c io.ReadWriter, b []byte) { _, _ = c.Read(make([]byte, 4096)); _, _ = c.Write(b) }

// begun answers BEGIN and its like, and the first query behind them by b.
func begun(c io.ReadWriter, b []byte) {
	say(c, welcome())
	tag := &pgproto3.CommandComplete{CommandTag: []byte("SET")}
	say(c, append(encode(tag, tag, tag, tag), b...))
}

func hold(c io.ReadWriter) { _, _ = io.Copy(io.Discard, c) }

func scripts(t *testing.T) []warehouses.HostileScript {
	authority := fixture.NewAuthority(t)
	serverTLS := authority.ServerTLS(t, "127.0.0.1")
	call := func(target ports.Target) ports.Target {
		c := target.Credential
		target.Credential = warehouses.HostTarget(t, connection.Postgres, map[string]any{
			"host": c.Text("host"), "port": c.Port(), "database": "d", "username": "u", "tls": "verify_full",
			"tls_ca": authority.PEM,
		}, nil).Credential
		return target
	}
	content := encode(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{
		{Name: []byte("version"), DataTypeOID: 25, DataTypeSize: -1},
		{Name: []byte("v"), DataTypeOID: 25, DataTypeSize: -1},
	}})
	large := []connection.Code{connection.ResponseTooLarge}
	foreign := []connection.Code{connection.NotThisDatabase}
	late := []connection.Code{connection.ConnectTimeout, connection.QueryTimeout}
	endless := []connection.Code{connection.ConnectTimeout, connection.BackendUnreachable}
	lost := []connection.Code{connection.HostUnreachable, connection.NotThisDatabase}
	refusals := []connection.Code{connection.AuthRejected}
	scram := func(iterations string) func(io.ReadWriter) {
		return func(c io.ReadWriter) {
			say(c, encode(&pgproto3.AuthenticationSASL{AuthMechanisms: []string{"SCRAM-SHA-256"}}))
			b := make([]byte, 4096)
			n, _ := c.Read(b)
			_, nonce, _ := strings.Cut(string(b[:n]), "r=")
			_, _ = c.Write(encode(&pgproto3.AuthenticationSASLContinue{
				Data: []byte("r=" + nonce + "x,s=c2FsdA==,i=" + iterations)}))
			hold(c)
		}
	}
	return []warehouses.HostileScript{
		{Name: "it claims an error of 2 GB", Plain: true, Codes: foreign,
			Serve: func(c io.ReadWriter) {
				say(c, message('E', 1<<31-1, nil))
				warehouses.Forever(c, make([]byte, 4096))
			}},
		{Name: "it claims a negative length", Plain: true, Codes: foreign,
			Serve: func(c io.ReadWriter) { say(c, []byte{'E', 0xff, 0xff, 0xff, 0xff}); hold(c) }},
		{Name: "it asks for 2^31 rounds of SCRAM", Plain: true, Codes: refusals, Serve: scram("2147483647")},
		{Name: "it asks for a password in the clear", Plain: true, Codes: []connection.Code{connection.AuthRejected},
			Serve: func(c io.ReadWriter) {
				say(c, encode(&pgproto3.AuthenticationCleartextPassword{}))
				hold(c)
			}},
		{Name: "it asks for a way to sign in that there is not", Plain: true, Codes: refusals,
			Serve: func(c io.ReadWriter) {
				say(c, encode(&pgproto3.AuthenticationSASL{AuthMechanisms: []string{"PLAIN"}}))
				hold(c)
			}},
		{Name: "it asks for our password over TLS", Codes: late, To: call, Serve: func(c io.ReadWriter) {
			say(c, []byte{'S'})
			warehouses.OverTLS(serverTLS, func(c io.ReadWriter) {
				say(c, encode(&pgproto3.AuthenticationCleartextPassword{}))
				b := make([]byte, 4096)
				n, _ := c.Read(b)
				if strings.Contains(string(b[:n]), "c4n4ry") {
					panic("it was told: " + string(b[:n]))
				}
				hold(c)
			})(c)
		}},
		{Name: "it drips an error", Codes: late, Serve: func(c io.ReadWriter) {
			_, _ = c.Read(make([]byte, 512))
			warehouses.Drip(c, message('E', 20000, make([]byte, 20000)))
		}},
		{Name: "it greets for ever", Codes: append(endless, large...), Serve: func(c io.ReadWriter) {
			say(c, encode(&pgproto3.AuthenticationOk{}))
			warehouses.Forever(c, encode(&pgproto3.ParameterStatus{Name: "a", Value: strings.Repeat("b", 1000)}))
		}},
		{Name: "it gives notice for ever", Codes: append(endless, large...),
			Serve: func(c io.ReadWriter) {
				say(c, encode(&pgproto3.AuthenticationOk{}))
				warehouses.Forever(c, encode(&pgproto3.NoticeResponse{Message: strings.Repeat("b", 1000)}))
			}},
		{Name: "it lets us in and says no more", Codes: []connection.Code{connection.BackendUnreachable},
			Serve: func(c io.ReadWriter) { say(c, encode(&pgproto3.AuthenticationOk{})); hold(c) }},
		{Name: "it says no more after the welcome", Codes: late,
			Serve: func(c io.ReadWriter) { say(c, welcome()); hold(c) }},
		{Name: "it resets in the middle of the greeting", Plain: true, Codes: lost, Serve: func(c io.ReadWriter) {
			say(c, welcome()[:12])
			warehouses.Reset(c)
		}},
		{Name: "it has one row without an end", Codes: large, Serve: func(c io.ReadWriter) {
			begun(c, slices.Concat(content, message('D', 1<<30, nil)))
			warehouses.Forever(c, make([]byte, 4096))
		}},
		{Name: "it has a value of 100 MB", Codes: large, Serve: func(c io.ReadWriter) {
			begun(c, slices.Concat(content, message('D', 100<<20,
				binary.BigEndian.AppendUint32([]byte{0, 1}, 100<<20-10))))
			warehouses.Forever(c, make([]byte, 4096))
		}},
		{Name: "it has rows without an end", Codes: large, Serve: func(c io.ReadWriter) {
			begun(c, content)
			warehouses.Forever(c, bytes.Repeat(encode(&pgproto3.DataRow{Values: [][]byte{[]byte("x"), []byte("y")}}),
				256))
		}},
		{Name: "it sends an empty answer", Codes: foreign, Serve: func(c io.ReadWriter) {
			begun(c, slices.Concat(content, encode(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 0")},
				&pgproto3.ReadyForQuery{TxStatus: 'T'})))
			hold(c)
		}},
		{Name: "it answers only the first of our statements", Plain: true, Codes: foreign,
			Serve: func(c io.ReadWriter) {
				begun(c, slices.Concat(content, encode(&pgproto3.DataRow{Values: [][]byte{[]byte("x"), []byte("y")}},
					&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")}, &pgproto3.ReadyForQuery{TxStatus: 'T'})))
				hold(c)
			}},
		{Name: "it fails after the first of our statements", Plain: true,
			Codes: []connection.Code{connection.QueryTimeout}, Serve: func(c io.ReadWriter) {
				begun(c, slices.Concat(content, encode(&pgproto3.DataRow{Values: [][]byte{[]byte("x"), []byte("y")}},
					&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")},
					&pgproto3.ErrorResponse{Severity: "ERROR", Code: "57014"}, &pgproto3.ReadyForQuery{TxStatus: 'E'})))
				hold(c)
			}},
		{Name: "it says that it speaks another version", Plain: true,
			Codes: []connection.Code{connection.UnsupportedVersion}, Serve: func(c io.ReadWriter) {
				say(c, encode(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "0A000",
					Message: "unsupported frontend protocol"}))
				hold(c)
			}},
		{Name: "it offers TLS and talks nonsense", Plain: true, To: call,
			Codes: []connection.Code{connection.TLSUnsupported}, Serve: func(c io.ReadWriter) {
				say(c, []byte{'S'})
				say(c, []byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
				hold(c)
			}},
		{Name: "it offers TLS and says no more", To: call, Codes: late,
			Serve: func(c io.ReadWriter) { say(c, []byte{'S'}); hold(c) }},
		{Name: "it offers TLS and goes", Plain: true, To: call, Codes: []connection.Code{connection.TLSUnsupported},
			Serve: func(c io.ReadWriter) { say(c, []byte{'S'}) }},
		{Name: "it offers TLS and words behind it", Plain: true, To: call,
			Codes: []connection.Code{connection.TLSUnsupported}, Serve: func(c io.ReadWriter) {
				say(c, append([]byte{'S'}, welcome()...))
				hold(c)
			}},
		{Name: "it has TLS of another authority", Plain: true, To: call,
			Codes: []connection.Code{connection.TLSUntrusted}, Serve: func(c io.ReadWriter) {
				say(c, []byte{'S'})
				warehouses.OverTLS(fixture.NewAuthority(t).ServerTLS(t, "127.0.0.1"), hold)(c)
			}},
		{Name: "it has TLS of years ago", Plain: true, To: call, Codes: []connection.Code{connection.TLSUnsupported},
			Serve: func(c io.ReadWriter) {
				old := serverTLS.Clone()
				old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
				say(c, []byte{'S'})
				warehouses.OverTLS(old, hold)(c)
			}},
		{Name: "it is an SSH server, whose first letter is a yes to TLS", Plain: true, To: call, Codes: foreign,
			Serve: func(c io.ReadWriter) {
				_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.6\r\n")
				hold(c)
			}},
		{Name: "it has no TLS", Plain: true, To: call, Codes: []connection.Code{connection.TLSUnsupported},
			Serve: func(c io.ReadWriter) { say(c, []byte{'N'}); hold(c) }},
		{Name: "it drips TLS", To: call, Codes: late, Serve: func(c io.ReadWriter) {
			say(c, []byte{'S'})
			warehouses.Drip(c, append([]byte{22, 3, 3, 0x40, 0}, make([]byte, 0x4000)...))
		}},
	}
}

// expired is a server whose certificate has expired.
func expired(t *testing.T) ports.Target {
	certificate, key := shared(t).authority.Sign(t, -time.Hour, "127.0.0.1")
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	require.NoError(t, err)
	port := fixture.Listener(t, func(c net.Conn) {
		say(c, []byte{'S'})
		warehouses.OverTLS(&tls.Config{Certificates: []tls.Certificate{pair}}, hold)(c)
	})
	return shared(t).target(t, map[string]any{"port": port})
}
