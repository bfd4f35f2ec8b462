package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestDial(t *testing.T) {
	t.Run("networks other than tcp are refused", func(t *testing.T) {
		for _, network := range []string{"unix", "udp", "tcp4", "ip", ""} {
			if _, err := New(loopbackRules()).DialContext(t.Context(), network, "127.0.0.1:1"); !errors.Is(err,
				connection.NetworkNotAllowed) {
				t.Errorf("%s: %v", network, err)
			}
		}
	})
	t.Run("ports are numbers", func(t *testing.T) {
		for _, address := range []string{"127.0.0.1:http", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
			"127.0.0.1", "/tmp/x"} {
			if _, err := New(loopbackRules()).DialContext(t.Context(), "tcp", address); !errors.Is(err,
				connection.NetworkNotAllowed) {
				t.Errorf("%s: %v", address, err)
			}
		}
	})
	t.Run("the next address is tried when one does not accept", func(t *testing.T) {
		port, acceptedCount := countConnections(t, "127.0.0.1:0", func(net.Conn) {})
		closings := fixture.ClosedPort(t)
		c, err := New(loopbackRules()).Dial(t.Context(),
			[]netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), closings),
				netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)})
		require.NoError(t, err)
		c.Close()
		proof.Eventually(t, "a connection", func() bool { return acceptedCount.Load() == 1 })
	})
	t.Run("a context that has ended ends it", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		port, _ := countConnections(t, "127.0.0.1:0", func(net.Conn) {})
		if _, err := New(loopbackRules()).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			t.Error("it connected")
		}
	})
}

// limited connects to a port, and reads at most 10,000 bytes.
func limited(t *testing.T, port uint16) net.Conn {
	t.Helper()
	r := loopbackRules()
	r.Bytes = 10_000
	c, err := New(r).DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestConnectionsAreBounded(t *testing.T) {
	flood := func(c net.Conn) {
		for b := make([]byte, 4096); ; {
			if _, err := c.Write(b); err != nil {
				return
			}
		}
	}
	t.Run("to their bytes, all together", func(t *testing.T) {
		port, _ := countConnections(t, "127.0.0.1:0", flood)
		r := loopbackRules()
		r.Bytes = 10_000
		d := New(r)
		read := int64(0)
		var err error
		for range 2 {
			var c net.Conn
			if c, err = d.DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port)); err != nil {
				t.Fatal(err)
			}
			var n int64
			n, err = io.CopyN(io.Discard, c, 6000)
			read += n
			c.Close()
		}
		if !errors.Is(err, connection.ResponseTooLarge) || read > 10_000 {
			t.Errorf("%d bytes, %v", read, err)
		}
	})
	t.Run("and a write after them says so too", func(t *testing.T) {
		port, _ := countConnections(t, "127.0.0.1:0", flood)
		c := limited(t, port)
		_, _ = io.Copy(io.Discard, c)
		if _, err := c.Write([]byte("more")); !errors.Is(err, connection.ResponseTooLarge) {
			t.Errorf("it says %v", err)
		}
	})
	t.Run("but may use all of them", func(t *testing.T) {
		port, _ := countConnections(t, "127.0.0.1:0", func(c net.Conn) { _, _ = c.Write(make([]byte, 10_000)) })
		c := limited(t, port)
		if n, err := io.Copy(io.Discard, c); n != 10_000 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
	t.Run("to their end, even if later deadlines are set", func(t *testing.T) {
		port, _ := countConnections(t, "127.0.0.1:0", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
		for name, set := range map[string]func(net.Conn) error{
			"none":          func(net.Conn) error { return nil },
			"a later one":   func(c net.Conn) error { return c.SetDeadline(time.Now().Add(time.Hour)) },
			"none any more": func(c net.Conn) error { return c.SetReadDeadline(time.Time{}) },
		} {
			r := loopbackRules()
			r.Deadline = time.Now().Add(time.Second) // of which connecting may need a part
			c, err := New(r).DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
			require.NoError(t, err)
			require.NoError(t, set(c))
			start := time.Now()
			if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Errorf("%s: it went on", name)
			}
			proof.Within(t, "the read", time.Since(start), 2*time.Second)
			c.Close()
		}
	})
}

// TestNoTrickOpensASocket throws ten thousand hosts at the dialer, with a DNS that answers every name
// by a forbidden address.
func TestNoTrickOpensASocket(t *testing.T) {
	r := rand.New(rand.NewPCG(20260101, 5))
	port, acceptedCount := countConnections(t, "127.0.0.1:0", func(net.Conn) {})
	hit := 0
	for i := range 10_000 {
		d := New(Rules{
			Port: anyPort, Connect: proof.Patience, Deadline: time.Now().Add(proof.Patience), Bytes: 1 << 10,
			Resolve: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{fixture.ForbiddenAddress(r),
					netip.AddrFrom16(fixture.ForbiddenAddress(r).As16())}, nil
			},
		})
		d.dialed = func(a netip.AddrPort) { hit++ }
		host := fixture.HostTrick(r, port)
		if _, err := d.Lookup(t.Context(), host, port); !errors.Is(err, connection.NetworkNotAllowed) {
			t.Errorf("%d: Lookup of %q: %v", i, host, err)
		}
		if c, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(host, fmt.Sprint(port))); err == nil {
			t.Errorf("%d: %q was reached", i, host)
			c.Close()
		}
	}
	if hit != 0 || acceptedCount.Load() != 0 {
		t.Errorf("%d addresses passed the hook, %d connections were accepted", hit, acceptedCount.Load())
	}
}
