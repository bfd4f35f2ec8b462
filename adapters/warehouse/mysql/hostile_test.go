package mysql_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/mysql"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func hostile(t *testing.T, open func(*testing.T) ports.Warehouse) warehouses.HostileHarness {
	return warehouses.HostileHarness{
		Open: open,
		Target: func(t *testing.T, host string, port uint16) ports.Target {
			return warehouses.HostTarget(t, connection.MySQL, map[string]any{
				"host": host, "port": port, "database": "d", "username": "u", "password": warehouses.Canary,
				"tls": "disable",
			}, nil)
		},
		SpeaksFirst: true,
		Scripts:     slices.Concat(scripts(), refusals(), encrypted(t)),
	}
}

func resolving(_ *testing.T, lookup func(context.Context, string) ([]netip.Addr, error)) ports.Warehouse {
	return mysql.New(func(target ports.Target, end time.Time) warehouse.Network {
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
	harness := hostile(t, warehouses.Confined)
	harness.Scripts = append(harness.Scripts,
		// Only the child's memory limit bounds what the driver allocates for columns before it has seen any.
		warehouses.HostileScript{Name: "it claims to have a billion columns",
			Codes: []connection.Code{connection.OutOfMemory, connection.QueryTimeout},
			Serve: func(c io.ReadWriter) {
				in(c)
				answer(c, packet(1, []byte{0xfe, 0, 0, 0, 0x40, 0, 0, 0, 0}))
				hold(c)
			}},
		// The driver panics, and leaves a goroutine, which ends with the child.
		warehouses.HostileScript{Name: "its challenge is too short", Plain: true, Codes: foreign,
			Serve: func(c io.ReadWriter) {
				greet(c)
				answer(c, packet(2, []byte("\xfemysql_native_password\x00123")))
				hold(c)
			}},
	)
	warehouses.Hostile(t, harness)
}

// packet frames what a server says.
func packet(sequence byte, body []byte) []byte {
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
	head[3] = sequence
	return append(head, body...)
}

// greeting is a server's first packet; capabilities are all that a client could want, but TLS.
func greeting(flags uint32, plugin string) []byte {
	b := append([]byte{10}, "8.0.36\x00\x01\x00\x00\x0012345678\x00"...)
	b = binary.LittleEndian.AppendUint16(b, uint16(flags))
	b = append(b, 45, 2, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(flags>>16))
	b = append(b, 21)
	b = append(b, make([]byte, 10)...)
	return packet(0, append(b, "123456789012\x00"+plugin+"\x00"...))
}

const (
	plain     = 1 | 1<<3 | 1<<9 | 1<<13 | 1<<15 | 1<<17 | 1<<19 // with a database, and plugins to sign in
	withTLS   = plain | 1<<11
	native    = "mysql_native_password"
	challenge = "12345678901234567890"
)

func failure(sequence byte, number uint16) []byte {
	return packet(sequence, append(binary.LittleEndian.AppendUint16([]byte{0xff}, number), "#HY000c4n4ry"...))
}

func fine(sequence byte) []byte { return packet(sequence, []byte{0, 0, 0, 2, 0, 0, 0}) }

// answer reads the client's next words and says something.
func answer(c io.ReadWriter, b []byte) { _, _ = c.Read(make([]byte, 4096)); _, _ = c.Write(b) }

func hold(c io.ReadWriter) { _, _ = io.Copy(io.Discard, c) }

func greet(c io.ReadWriter) { _, _ = c.Write(greeting(plain, native)) }

// in lets anybody in.
func in(c io.ReadWriter) { greet(c); answer(c, fine(2)) }

// packets returns packets until their sequence numbers wrap around, so that the result can be repeated without
// a gap in the numbers.
func packets(first byte, payload string) (all []byte) {
	for i := range 256 {
		all = append(all, packet(first+byte(i), []byte(payload))...)
	}
	return all
}

// table begins a result of two columns.
func table() []byte {
	column := []byte("\x03def\x00\x00\x00\x01a\x01a\x0c\x2d\x00\x00\x01\x00\x00\xfd\x00\x00\x00\x00\x00")
	return slices.Concat(packet(1, []byte{2}), packet(2, column), packet(3, column),
		packet(4, []byte{0xfe, 0, 0, 2, 0}))
}

var (
	late    = []connection.Code{connection.ConnectTimeout, connection.QueryTimeout}
	foreign = []connection.Code{connection.NotThisDatabase}
	large   = []connection.Code{connection.ResponseTooLarge}
	lost    = []connection.Code{connection.HostUnreachable}
	inClear = []connection.Code{connection.TLSRequired}
	// A reset may arrive before this end has noticed that it is connected.
	reset = []connection.Code{connection.HostUnreachable, connection.PortClosed}
)

func scripts() []warehouses.HostileScript {
	say := func(b []byte) func(io.ReadWriter) { return func(c io.ReadWriter) { _, _ = c.Write(b); hold(c) } }
	finish := func(b []byte) func(io.ReadWriter) { return func(c io.ReadWriter) { greet(c); answer(c, b); hold(c) } }
	requests := func(b []byte) func(io.ReadWriter) { return func(c io.ReadWriter) { in(c); answer(c, b); hold(c) } }
	nothing := func(proceedOne func(io.ReadWriter)) func(io.ReadWriter) {
		return func(c io.ReadWriter) {
			c = &watched{ReadWriter: c}
			proceedOne(c)
		}
	}
	full := greeting(plain, native)
	return []warehouses.HostileScript{
		{Name: "it asks for a file", Plain: true, Codes: foreign, Serve: nothing(func(c io.ReadWriter) {
			in(c)
			answer(c, packet(1, []byte("\xfb/etc/passwd")))
			_, _ = c.Read(make([]byte, 4096)) // nothing, as the packet has it
			_, _ = c.Write(fine(3))
		})},
		{Name: "it asks for a file instead of a password", Plain: true, Codes: foreign,
			Serve: nothing(finish(packet(2, []byte("\xfb/etc/passwd"))))},
		{Name: "it wants the password in the clear", Plain: true, Codes: inClear,
			Serve: nothing(finish(packet(2, []byte("\xfemysql_clear_password\x00"))))},
		{Name: "it wants the password by the method of before 4.1", Plain: true,
			Codes: []connection.Code{connection.AuthRejected}, Serve: nothing(finish(packet(2, []byte{0xfe})))},
		{Name: "it wants the password by an unknown method", Plain: true,
			Codes: []connection.Code{connection.AuthRejected},
			Serve: nothing(finish(packet(2, []byte("\xfedialog\x00"))))},
		{Name: "it wants the password under a key of its own", Plain: true, Codes: inClear,
			Serve: nothing(func(c io.ReadWriter) {
				_, _ = c.Write(greeting(plain, "caching_sha2_password"))
				answer(c, packet(2, []byte{1, 4}))
				hold(c)
			})},
		{Name: "it hands out a key", Plain: true, Codes: inClear, Serve: nothing(func(c io.ReadWriter) {
			_, _ = c.Write(greeting(plain, "sha256_password"))
			answer(c, packet(2, []byte("\x01-----BEGIN PUBLIC KEY-----")))
			hold(c)
		})},
		{Name: "it changes its mind about the way to sign in", Plain: true, Codes: inClear,
			Serve: nothing(func(c io.ReadWriter) {
				greet(c)
				answer(c, packet(2, []byte("\xfecaching_sha2_password\x00"+challenge+"\x00")))
				answer(c, packet(4, []byte{1, 4}))
				hold(c)
			})},
		{Name: "its greeting is cut short", Plain: true, Codes: []connection.Code{connection.UnsupportedVersion},
			Serve: say(packet(0, full[4:30]))},
		{Name: "its greeting has no end", Plain: true, Codes: foreign,
			Serve: say(append([]byte{0xff, 0xff, 0xff, 0}, full[4:]...))},
		{Name: "its greeting is empty", Plain: true, Codes: foreign, Serve: say(packet(0, nil))},
		{Name: "its greeting has a version without an end", Plain: true, Codes: foreign,
			Serve: say(packet(0, append([]byte{10}, strings.Repeat("8", 200)...)))},
		{Name: "its error has no number", Plain: true, Codes: foreign, Serve: say(packet(0, []byte{0xff}))},
		{Name: "it speaks a protocol of the last century", Plain: true,
			Codes: []connection.Code{connection.UnsupportedVersion},
			Serve: say(packet(0, append([]byte{9}, "3.20\x00\x01\x00\x00\x0012345678\x00"...)))},
		{Name: "it can nothing", Plain: true, Codes: []connection.Code{connection.UnsupportedVersion},
			Serve: say(greeting(0, native))},
		{Name: "it drips its greeting", Codes: late,
			Serve: func(c io.ReadWriter) { warehouses.Drip(c, full) }},
		{Name: "it resets in the middle of the greeting", Plain: true, Codes: reset, Serve: func(c io.ReadWriter) {
			_, _ = c.Write(full[:20])
			warehouses.Reset(c)
		}},
		{Name: "it goes while the user signs in", Plain: true, Codes: lost,
			Serve: func(c io.ReadWriter) { greet(c); _, _ = c.Read(make([]byte, 4096)) }},
		{Name: "it greets and says no more", Codes: late, Serve: say(full)},
		{Name: "it lets us in and says no more", Codes: late, Serve: func(c io.ReadWriter) { in(c); hold(c) }},
		{Name: "it talks nonsense to the user", Plain: true, Codes: foreign,
			Serve: finish(packet(2, []byte("nonsense")))},
		{Name: "its packets are out of order", Plain: true, Codes: foreign, Serve: requests(packet(77, []byte{2}))},
		{Name: "its packets are empty", Plain: true, Codes: foreign, Serve: requests(packet(1, nil))},
		{Name: "its columns are cut short", Plain: true, Codes: foreign,
			Serve: requests(append(packet(1, []byte{2}), packet(2, []byte{0xfc})...))},
		{Name: "it has columns without an end", Codes: append(large, foreign...), Serve: func(c io.ReadWriter) {
			in(c)
			answer(c, packet(1, []byte{0xfc, 0xff, 0xff}))
			warehouses.Forever(c, packets(2,
				"\x03def\x00\x00\x00\x01a\x01a\x0c\x2d\x00\x00\x01\x00\x00\xfd\x00\x00\x00\x00\x00"))
		}},
		{Name: "it has one row without an end", Codes: large, Serve: func(c io.ReadWriter) {
			in(c)
			answer(c, append(table(), 0xff, 0xff, 0xff, 5))
			warehouses.Forever(c, make([]byte, 4096))
		}},
		{Name: "it has a value of 100 MB", Codes: large, Serve: func(c io.ReadWriter) {
			in(c)
			answer(c, append(table(), 0xff, 0xff, 0xff, 5, 0xfd, 0xff, 0xff, 0xff))
			warehouses.Forever(c, bytes.Repeat([]byte{'x'}, 4096))
		}},
		{Name: "it has rows without an end", Codes: large, Serve: func(c io.ReadWriter) {
			in(c)
			answer(c, table())
			warehouses.Forever(c, packets(5, "\x01x\x01y"))
		}},
		{Name: "it sends an empty answer", Plain: true, Codes: foreign,
			Serve: requests(append(table(), packet(5, []byte{0xfe, 0, 0, 2, 0})...))},
		// The driver takes it for the end of the rows, and waits for what comes then.
		{Name: "its values are longer than their packet", Codes: late,
			Serve: requests(append(table(), packet(5, []byte("\x20x\x20y"))...))},
	}
}

// refusals are errors of servers that the suite's own is not, in place of a greeting and behind it.
func refusals() []warehouses.HostileScript {
	first := func(name string, number uint16, code connection.Code) warehouses.HostileScript {
		return warehouses.HostileScript{Name: name, Plain: true, Codes: []connection.Code{code},
			Serve: func(c io.ReadWriter) { _, _ = c.Write(failure(0, number)); hold(c) }}
	}
	nextScript := func(name string, number uint16, code connection.Code) warehouses.HostileScript {
		return warehouses.HostileScript{Name: name, Plain: true, Codes: []connection.Code{code},
			Serve: func(c io.ReadWriter) { greet(c); answer(c, failure(2, number)); hold(c) }}
	}
	return []warehouses.HostileScript{
		first("it has no connection left", 1040, connection.TooManyConnections),
		first("it has blocked our address", 1129, connection.AuthRejected),
		first("it does not know our address", 1130, connection.AuthRejected),
		first("it is shutting down", 1053, connection.ServerStarting),
		nextScript("it wants TLS, as MySQL says it", 3159, connection.TLSRequired),
		nextScript("the account is locked, as MySQL says it", 3118, connection.AuthRejected),
		nextScript("the password has expired", 1862, connection.AuthRejected),
		nextScript("the node is not ready", 1047, connection.ServerStarting),
		nextScript("it has an error of its own", 65000, connection.Internal),
	}
}

func encrypted(t *testing.T) []warehouses.HostileScript {
	authority := fixture.NewAuthority(t)
	serverTLS := authority.ServerTLS(t, "127.0.0.1")
	call := func(mode string) func(ports.Target) ports.Target {
		return func(target ports.Target) ports.Target {
			c := target.Credential
			target.Credential = warehouses.HostTarget(t, connection.MySQL, map[string]any{
				"host": c.Text("host"), "port": c.Port(), "database": "d", "username": "u",
				"password": warehouses.Canary, "tls": mode, "tls_ca": authority.PEM,
			}, nil).Credential
			return target
		}
	}
	securedTarget := call("verify_full")
	// begin reads the client's wish for TLS, which is 36 bytes long, and nothing of what follows.
	begin := func(c io.ReadWriter) {
		_, _ = c.Write(greeting(withTLS, native))
		_, _ = io.ReadFull(c, make([]byte, 36))
	}
	isOver := func(config *tls.Config, proceedOne func(io.ReadWriter)) func(io.ReadWriter) {
		return func(c io.ReadWriter) {
			begin(c)
			warehouses.OverTLS(config, func(c io.ReadWriter) { proceedOne(&watched{ReadWriter: c}) })(c)
		}
	}
	old := serverTLS.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	codes := []connection.Code{connection.TLSUnsupported}
	return []warehouses.HostileScript{
		{Name: "it has no TLS", Plain: true, To: securedTarget, Codes: codes,
			Serve: func(c io.ReadWriter) { greet(c); hold(c) }},
		{Name: "it offers TLS and talks nonsense", Plain: true, To: securedTarget, Codes: codes,
			Serve: func(c io.ReadWriter) {
				begin(c)
				_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
				hold(c)
			}},
		{Name: "it offers TLS and says no more", To: securedTarget, Codes: late,
			Serve: func(c io.ReadWriter) { begin(c); hold(c) }},
		{Name: "it offers TLS and goes", Plain: true, To: securedTarget, Codes: codes, Serve: begin},
		{Name: "it has TLS of another authority", Plain: true, To: securedTarget,
			Codes: []connection.Code{connection.TLSUntrusted},
			Serve: isOver(fixture.NewAuthority(t).ServerTLS(t, "127.0.0.1"), hold)},
		{Name: "it has TLS for another name", Plain: true, To: securedTarget,
			Codes: []connection.Code{connection.TLSNameMismatch},
			Serve: isOver(authority.ServerTLS(t, "db.example.com"), hold)},
		{Name: "it has TLS of years ago", Plain: true, To: securedTarget, Codes: codes, Serve: isOver(old, hold)},
		{Name: "it wants the password in the clear, below TLS that is not verified", Plain: true, To: call("require"),
			Codes: []connection.Code{connection.AuthRejected},
			Serve: isOver(serverTLS, func(c io.ReadWriter) {
				answer(c, packet(3, []byte("\xfemysql_clear_password\x00")))
				hold(c)
			})},
		{Name: "it asks for a file below TLS", Plain: true, To: securedTarget, Codes: foreign,
			Serve: isOver(serverTLS, func(c io.ReadWriter) {
				answer(c, fine(3))
				answer(c, packet(1, []byte("\xfb/etc/passwd")))
				_, _ = c.Read(make([]byte, 4096))
				_, _ = c.Write(fine(3))
			})},
	}
}

// watched is a connection whose server looks for what it should never be told.
type watched struct{ io.ReadWriter }

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.ReadWriter.Read(b)
	for _, secret := range []string{warehouses.Canary, "root:"} {
		if bytes.Contains(b[:n], []byte(secret)) {
			panic("the server was told " + secret)
		}
	}
	return n, err
}
