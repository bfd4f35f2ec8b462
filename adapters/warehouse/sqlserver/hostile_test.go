package sqlserver_test

import (
	"context"
	"encoding/binary"
	"io"
	"net/netip"
	"slices"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/sqlserver"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

func hostile(open func(*testing.T) ports.Warehouse) warehouses.HostileHarness {
	return warehouses.HostileHarness{
		Open: open,
		Target: func(t *testing.T, host string, port uint16) ports.Target {
			return warehouses.HostTarget(t, connection.SQLServer, map[string]any{
				"host": host, "port": port, "database": "d", "username": "u", "password": warehouses.Canary,
				"tls": "disable",
			}, nil)
		},
		Scripts: scripts(),
	}
}

func TestHostileServers(t *testing.T) {
	harness := hostile(direct)
	harness.Resolving = func(_ *testing.T, lookup func(context.Context, string) ([]netip.Addr, error)) ports.Warehouse {
		return sqlserver.New(func(target ports.Target, end time.Time) warehouse.Network {
			return egress.New(egress.Rules{
				Allow: target.Egress.Allow, Port: func(uint16) bool { return true }, Connect: target.Limits.Connect,
				Deadline: end, Bytes: target.Limits.Bytes, Resolve: lookup,
			})
		})
	}
	warehouses.Hostile(t, harness)
}

func TestHostileServersThroughTheChild(t *testing.T) {
	harness := hostile(warehouses.Confined)
	// Only the child's memory limit bounds what the driver allocates for a value before it has seen any of it.
	harness.Scripts = append(harness.Scripts, warehouses.HostileScript{
		Name:  "it claims to have a value of two gigabytes",
		Codes: []connection.Code{connection.OutOfMemory, connection.QueryTimeout},
		Serve: func(c io.ReadWriter) {
			in(c)
			text := []byte{0x81, 1, 0, 0, 0, 0, 0, 1, 0, 0xe7, 0xff, 0xff, 9, 4, 0xd0, 0, 0x34, 0, 0xd1}
			answer(c, packet(binary.LittleEndian.AppendUint64(text, 1<<31-1)))
			hold(c)
		}})
	warehouses.Hostile(t, harness)
}

// packet frames a response.
func packet(body []byte) []byte { return framed(4, body) }

func framed(kind byte, body []byte) []byte {
	head := []byte{kind, 1, 0, 0, 0, 0, 1, 0}
	binary.BigEndian.PutUint16(head[2:], uint16(len(head)+len(body)))
	return append(head, body...)
}

// prelogin is the response to PRELOGIN of a server with a way to encrypt.
func prelogin(encryption ...byte) []byte {
	body := []byte{0, 0, 11, 0, 6, 1, 0, 17, 0, byte(len(encryption)), 0xff, 16, 0, 0, 0, 0, 0}
	return packet(append(body, encryption...))
}

const notSupported, required = 2, 3

var (
	done     = []byte{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	loginAck = []byte{0xad, 10, 0, 1, 0x74, 0, 0, 4, 0, 16, 0, 0, 0}
)

// routing is the ENVCHANGE that sends a client to another server.
func routing(host string, port uint16) []byte {
	var name []byte
	for _, u := range utf16.Encode([]rune(host)) {
		name = binary.LittleEndian.AppendUint16(name, u)
	}
	le := binary.LittleEndian
	value := le.AppendUint16(le.AppendUint16([]byte{0}, port), uint16(len(host)))
	value = append(value, name...)
	out := le.AppendUint16([]byte{0xe3}, uint16(5+len(value)))
	out = le.AppendUint16(append(out, 20), uint16(len(value)))
	return append(append(out, value...), 0, 0)
}

// answer reads the client's next words and says something.
func answer(c io.ReadWriter, b []byte) { _, _ = c.Read(make([]byte, 4096)); _, _ = c.Write(b) }

func hold(c io.ReadWriter) { _, _ = io.Copy(io.Discard, c) }

// in lets anyone in.
func in(c io.ReadWriter) {
	answer(c, prelogin(notSupported))
	answer(c, packet(slices.Concat(loginAck, done)))
}

func scripts() []warehouses.HostileScript {
	foreign := []connection.Code{connection.NotThisDatabase}
	forbidden := []connection.Code{connection.NetworkNotAllowed}
	lost := []connection.Code{connection.HostUnreachable}
	says := func(name string, codes []connection.Code, answers ...[]byte) warehouses.HostileScript {
		return warehouses.HostileScript{Name: name, Plain: true, Codes: codes, Serve: func(c io.ReadWriter) {
			for _, a := range answers {
				answer(c, a)
			}
			hold(c)
		}}
	}
	hello := prelogin(notSupported)
	goes := func(name string, codes []connection.Code, begin func(io.ReadWriter)) warehouses.HostileScript {
		return warehouses.HostileScript{Name: name, Plain: true, Codes: codes,
			Serve: func(c io.ReadWriter) { begin(c); _, _ = c.Read(make([]byte, 4096)) }}
	}
	routedContent := func(host string, port uint16) []byte {
		return packet(slices.Concat(loginAck, routing(host, port), done))
	}
	return []warehouses.HostileScript{
		says("its first packet is that of a client", foreign, framed(0x12, []byte{0xff})),
		says("its first packet is empty", foreign, packet(nil)),
		says("its first packet claims to be longer than it can be", foreign, []byte{4, 1, 0xff, 0xff, 0, 0, 1, 0}),
		says("its options end early", foreign, packet([]byte{0, 0, 11, 0, 6})),
		says("its options are elsewhere", foreign, packet([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff})),
		says("it does not say how it encrypts", foreign, prelogin()),
		says("it requires TLS", []connection.Code{connection.TLSRequired}, prelogin(required)),
		goes("it goes after its first packet", lost, func(c io.ReadWriter) { answer(c, hello) }),
		goes("it goes after the sign-in", lost, in),
		says("it wants a sign-in of Windows", foreign, hello, packet([]byte{0xed, 1, 0, 7})),
		says("it has a token of its own", foreign, hello, packet([]byte{0x07})),
		says("its error is cut short", append(lost, connection.NotThisDatabase, connection.ConnectTimeout), hello,
			packet([]byte{0xaa, 0xff, 0xff, 1})),
		says("its error has no number that is known", []connection.Code{connection.Internal}, hello,
			packet(slices.Concat([]byte{0xaa, 14, 0, 9, 9, 9, 9, 1, 16, 0, 0, 0, 0, 1, 0, 0, 0}, done))),
		says("it sends the client to a forbidden address", forbidden, hello, routedContent("127.0.0.2", 1433)),
		says("it sends the client to another port", forbidden, hello, routedContent("127.0.0.1", 1433)),
		says("it sends the client to an instance", append(forbidden, connection.NotThisDatabase), hello,
			routedContent(`127.0.0.1\other`, 0)),
		says("its first row is too short", foreign, hello, packet(slices.Concat(loginAck, done)),
			packet(slices.Concat([]byte{0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0x38, 0, 0xd1, 1, 0, 0, 0}, done))),
		says("it has no rows", foreign, hello, packet(slices.Concat(loginAck, done)), packet(done)),
		says("it has columns without a type", foreign, hello, packet(slices.Concat(loginAck, done)),
			packet([]byte{0x81, 0xfe, 0xff, 0, 0, 0, 0, 0, 0, 0})),
		{Name: "it chatters after the sign-in", Codes: []connection.Code{connection.ResponseTooLarge,
			connection.ConnectTimeout, connection.QueryTimeout}, Serve: func(c io.ReadWriter) {
			in(c)
			chatter := []byte{4, 0, 0, 25, 0, 0, 1, 0, 0xab, 14, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0}
			_, _ = c.Read(make([]byte, 4096))
			warehouses.Forever(c, chatter)
		}},
		{Name: "it signs in and says no more", Codes: []connection.Code{connection.QueryTimeout},
			Serve: func(c io.ReadWriter) { in(c); hold(c) }},
	}
}
