package warehouses

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// HostileHarness is a kind of warehouse that the suite connects to hostile servers.
type HostileHarness struct {
	Open func(*testing.T) ports.Warehouse // is called once

	// Target returns a target at an address, without password and TLS if the kind supports that. The suite sets its
	// egress and limits.
	Target func(t *testing.T, host string, port uint16) ports.Target

	// Resolving opens the warehouse with the suite's resolver; nil if that is impossible, such as in a child process.
	Resolving func(t *testing.T, lookup func(ctx context.Context, name string) ([]netip.Addr, error)) ports.Warehouse

	SpeaksFirst bool // servers of this kind send the first bytes, and the client waits for them

	// Scripts are attacks that only a server of this kind can make.
	Scripts []HostileScript
}

// HostileScript is one attack of a server.
type HostileScript struct {
	Name    string                          // a sentence
	Serve   func(io.ReadWriter)             // serves one connection, which ends when it returns
	Codes   []connection.Code               // one of them must result
	To      func(ports.Target) ports.Target // changes the harness's target; nil leaves it
	Plain   bool                            // it is obviously hostile and must fail in half the time
	Listens bool                            // it sends nothing before the client has
}

// hostileLimits are a fifth of the production limits, so that the suite needs only seconds.
var hostileLimits = ports.Limits{Connect: time.Second, Statement: time.Second, Total: 2 * time.Second, Bytes: 1 << 20}

// limits returns hostileLimits in make prove. In make test, which asserts no durations, only those of them remain that
// the result of the script depends on: no load of the machine reaches the others.
func (h HostileHarness) limits(s HostileScript) ports.Limits {
	l := hostileLimits
	if proof.Running() {
		return l
	}
	connect := slices.Contains(s.Codes, connection.ConnectTimeout) ||
		slices.Contains(s.Codes, connection.BackendUnreachable)
	statement := slices.Contains(s.Codes, connection.QueryTimeout)
	switch {
	case connect:
	case s.Listens && h.SpeaksFirst:
		l.Connect *= 4 // half of which is for the second connection, to which the server responds
	default:
		l.Connect = proof.Patience
	}
	if !statement {
		l.Statement = proof.Patience
	}
	if !connect || !statement {
		l.Total = 2 * proof.Patience
	}
	return l
}

// hostileMemory is the number of bytes by which the memory of this process may grow.
const hostileMemory = 64 << 20

// hostileSecrets are secrets of the test, placed where drivers look for secrets.
const hostileSecrets = "c4n4ry-of-our-own"

// Hostile is the suite for a ports.Warehouse with hostile servers: every call needs bounded time and memory,
// leaves no goroutine, sends none of the process's secrets, and returns the right code.
func Hostile(t *testing.T, harness HostileHarness) {
	plantSecrets(t)
	w := harness.Open(t)
	for _, s := range append(hostileScripts(t), harness.Scripts...) {
		t.Run(s.Name, func(t *testing.T) {
			server := listen(t, "127.0.0.1:0", s.Serve)
			item := harness.Target(t, "127.0.0.1", server.port)
			item.Egress, item.Limits = identity.Egress{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}},
				harness.limits(s)
			if s.To != nil {
				item = s.To(item)
			}
			previous, memory := goleak.IgnoreCurrent(), taken()
			start := time.Now()
			r := w.Probe(t.Context(), item)
			took := time.Since(start)
			wantSteps(t, r)
			if !slices.Contains(s.Codes, r.Failure()) {
				t.Errorf("failure = %q, want one of %q: %+v", r.Failure(), s.Codes, r.Checks)
			}
			limit := hostileLimits.Total
			if s.Plain {
				limit /= 2
			}
			proof.Within(t, s.Name, took, limit+time.Second)
			if grown := taken() - memory; grown > hostileMemory {
				t.Errorf("memory grew by %d MiB", grown>>20)
			}
			server.stop()
			nothingLeft(t, previous)
			server.toldNoSecret(t)
		})
	}
	if harness.Resolving != nil {
		t.Run("a name that resolves to a forbidden address the second time",
			func(t *testing.T) { rebinding(t, harness) })
	}
}

// hostileScripts are attacks that a server of any kind can make.
func hostileScripts(t *testing.T) []HostileScript {
	elsewhere := listen(t, "127.0.0.2:0", func(io.ReadWriter) {})
	t.Cleanup(func() {
		assert.Equal(t, "connections went where a redirect pointed", elsewhere.accepted.Load(), 0)
	})
	foreign := []connection.Code{connection.NotThisDatabase}
	late := []connection.Code{connection.ConnectTimeout, connection.NotThisDatabase, connection.QueryTimeout}
	item := []connection.Code{connection.PortClosed, connection.HostUnreachable, connection.NotThisDatabase}
	finish := func(text string) func(io.ReadWriter) {
		return func(c io.ReadWriter) {
			_, _ = c.Read(make([]byte, 512))
			_, _ = io.WriteString(c, text)
			_, _ = io.Copy(io.Discard, c)
		}
	}
	return []HostileScript{
		{Name: "it says nothing", Codes: []connection.Code{connection.ConnectTimeout},
			Serve: func(c io.ReadWriter) { _, _ = io.Copy(io.Discard, c) }},
		{Name: "it is an SSH server", Plain: true, Codes: foreign, Serve: func(c io.ReadWriter) {
			_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.6\r\n")
			_, _ = io.Copy(io.Discard, c)
		}},
		{Name: "it is a mail server", Plain: true, Codes: foreign, Serve: func(c io.ReadWriter) {
			_, _ = io.WriteString(c, "220 mail.example.com ESMTP\r\n")
			_, _ = io.Copy(io.Discard, c)
		}},
		{Name: "it is a web server", Listens: true, Plain: true, Codes: foreign,
			Serve: finish("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")},
		{Name: "it redirects elsewhere", Listens: true, Plain: true, Codes: append(foreign, connection.NetworkNotAllowed),
			Serve: finish(fmt.Sprintf("HTTP/1.1 302 Found\r\nLocation: https://127.0.0.2:%d/\r\nContent-Length: "+
				"0\r\n\r\n", elsewhere.port))},
		{Name: "it drips", Codes: late, Serve: func(c io.ReadWriter) { Drip(c, []byte{'E'}) }},
		{Name: "it talks nonsense", Codes: append(late, connection.ResponseTooLarge), Serve: func(c io.ReadWriter) {
			noise := rand.New(rand.NewPCG(1, 2))
			b := make([]byte, 4096)
			for {
				for i := range b {
					b[i] = byte(noise.Uint32())
				}
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		}},
		{Name: "it never stops", Codes: append(late, connection.ResponseTooLarge),
			Serve: func(c io.ReadWriter) { Forever(c, make([]byte, 4096)) }},
		{Name: "it repeats what it hears", Listens: true, Codes: append(late, connection.AuthRejected),
			Serve: func(c io.ReadWriter) { _, _ = io.Copy(c, c) }},
		{Name: "it closes at once", Plain: true, Codes: item, Serve: func(io.ReadWriter) {}},
		{Name: "it closes after the first words", Listens: true, Plain: true, Codes: item,
			Serve: func(c io.ReadWriter) { _, _ = c.Read(make([]byte, 512)) }},
		{Name: "it resets at once", Plain: true, Codes: item, Serve: Reset},
		{Name: "it resets after the first words", Listens: true, Plain: true, Codes: item, Serve: func(c io.ReadWriter) {
			_, _ = c.Read(make([]byte, 512))
			Reset(c)
		}},
	}
}

// Forever writes b repeatedly until the connection is closed.
func Forever(c io.Writer, b []byte) {
	for {
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

// Drip writes the bytes of b, again and again, until the connection is closed. Its 20 bytes per second correspond to
// two at production limits.
func Drip(c io.Writer, b []byte) {
	pace := time.Tick(50 * time.Millisecond)
	for i := 0; ; i++ {
		if _, err := c.Write(b[i%len(b):][:1]); err != nil {
			return
		}
		<-pace
	}
}

// Reset resets the connection of a HostileScript, once the client has read what was sent: a reset overtakes it.
func Reset(c io.ReadWriter) {
	if h, ok := c.(*heard); ok {
		if tcp, ok := h.Conn.(*net.TCPConn); ok {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second) // a client may read no more
			defer cancel()
			proof.Poll(ctx, func() bool { return isRead(tcp) })
			_ = tcp.SetLinger(0)
		}
	}
}

// isRead reports whether the client of a connection on this machine has read everything that was sent. Its line of
// /proc/net/tcp has its address, the other one, its state, and the length of what it sends and has not read, all in
// hexadecimal (proc_net_tcp.rst).
func isRead(c *net.TCPConn) bool {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return true // not Linux
	}
	port := func(a net.Addr) string { return fmt.Sprintf(":%04X", a.(*net.TCPAddr).Port) }
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if strings.HasSuffix(fields[1], port(c.RemoteAddr())) && strings.HasSuffix(fields[2], port(c.LocalAddr())) {
			return strings.HasSuffix(fields[4], ":00000000")
		}
	}
	return true
}

// rebinding resolves a name to an allowed address first, and then to a forbidden one, where no connection may arrive.
func rebinding(t *testing.T, harness HostileHarness) {
	atFirst, next := fixture.ListenersOnOnePort(t)
	good, bad := serveOn(t, atFirst, func(io.ReadWriter) {}), serveOn(t, next, func(io.ReadWriter) {})
	var askedCount atomic.Int32
	w := harness.Resolving(t, func(context.Context, string) ([]netip.Addr, error) {
		if askedCount.Add(1) == 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.2")}, nil
	})
	target := harness.Target(t, "db.example.com", good.port)
	target.Egress = identity.Egress{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	target.Limits = harness.limits(HostileScript{})
	w.Probe(t.Context(), target)
	if r := w.Probe(t.Context(), target); r.Failure() != connection.NetworkNotAllowed {
		t.Errorf("the second time, failure = %q", r.Failure())
	}
	if _, err := w.Tables(t.Context(), target, connection.TableQuery{Limit: 1}); !errors.Is(err,
		connection.NetworkNotAllowed) {
		t.Errorf("the third time, error = %v", err)
	}
	if good.accepted.Load() == 0 || bad.accepted.Load() != 0 {
		t.Errorf("%d connections where they may go, %d where not", good.accepted.Load(), bad.accepted.Load())
	}
}

// listener is a server of the suite.
type listener struct {
	port     uint16
	accepted atomic.Int32

	stop  func()
	mu    sync.Mutex
	heard bytes.Buffer
}

// heard is a connection that records what the server receives.
type heard struct {
	net.Conn
	by *listener
}

func (h *heard) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	h.by.mu.Lock()
	defer h.by.mu.Unlock()
	h.by.heard.Write(b[:n])
	return n, err
}

func listen(t *testing.T, address string, serve func(io.ReadWriter)) *listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	must(t, err)
	return serveOn(t, l, serve)
}

func serveOn(t *testing.T, l net.Listener, serve func(io.ReadWriter)) *listener {
	s := &listener{port: l.Addr().(*net.TCPAddr).AddrPort().Port()}
	var serving sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.accepted.Add(1)
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			serving.Go(func() {
				defer c.Close()
				serve(&heard{Conn: c, by: s})
			})
		}
	})
	s.stop = sync.OnceFunc(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	t.Cleanup(s.stop)
	return s
}

func (s *listener) toldNoSecret(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.Contains(s.heard.Bytes(), []byte(hostileSecrets)) {
		t.Errorf("the server was told a secret of ours: %q", s.heard.Bytes())
	}
}

// plantSecrets puts the test's secrets wherever a driver might look for secrets.
func plantSecrets(t *testing.T) {
	home := t.TempDir()
	for name, text := range map[string]string{
		".pgpass":          "*:*:*:*:" + hostileSecrets + "\n",
		".pg_service.conf": "[ours]\nhost=127.0.0.2\nuser=" + hostileSecrets + "\npassword=" + hostileSecrets + "\n",
		".my.cnf":          "[client]\npassword=" + hostileSecrets + "\n",
	} {
		must(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
	}
	for name, value := range map[string]string{
		"HOME": home, "PGPASSFILE": filepath.Join(home, ".pgpass"),
		"PGSERVICEFILE": filepath.Join(home, ".pg_service.conf"), "PGSERVICE": "ours",
		"PGHOST": "127.0.0.2", "PGHOSTADDR": "127.0.0.2", "PGPORT": "1", "PGUSER": hostileSecrets,
		"PGPASSWORD": hostileSecrets, "PGDATABASE": hostileSecrets,
		"PGOPTIONS": "-c application_name=" + hostileSecrets, "PGAPPNAME": hostileSecrets, "PGSSLMODE": "prefer",
		"MYSQL_PWD":  hostileSecrets,
		"MYSQL_HOST": "127.0.0.2", "CLICKHOUSE_PASSWORD": hostileSecrets, "SNOWFLAKE_PASSWORD": hostileSecrets,
		"HTTP_PROXY": "http://" + hostileSecrets + "@127.0.0.2:1", "HTTPS_PROXY": "http://" + hostileSecrets +
			"@127.0.0.2:1",
		"ALL_PROXY":                      "socks5://" + hostileSecrets + "@127.0.0.2:1",
		"GOOGLE_APPLICATION_CREDENTIALS": filepath.Join(home, ".my.cnf"),
	} {
		t.Setenv(name, value)
	}
}

// taken returns the memory that this process has obtained from the system. Go never reduces that number.
func taken() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
