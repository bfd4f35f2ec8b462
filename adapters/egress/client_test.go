package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// quiet takes what net/http says of clients that go away.
var quiet = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)

func TestClient(t *testing.T) {
	authority := fixture.NewAuthority(t)
	start := func(t *testing.T, address string, handler http.HandlerFunc) *url.URL {
		t.Helper()
		l, err := net.Listen("tcp", address)
		require.NoError(t, err)
		s := httptest.NewUnstartedServer(handler)
		s.Listener.Close()
		s.Listener, s.TLS = l, authority.ServerTLS(t, "127.0.0.1", "127.0.0.2", "db.example.com")
		s.Config.ErrorLog = quiet
		s.StartTLS()
		t.Cleanup(s.Close)
		u, err := url.Parse(s.URL)
		require.NoError(t, err)
		return u
	}
	roots := func() *tls.Config { return &tls.Config{RootCAs: authority.Pool(), MinVersion: tls.VersionTLS12} }
	get := func(t *testing.T, d *Dialer, address string) (*http.Response, error) {
		t.Helper()
		r, err := d.Client(roots()).Get(address)
		if err == nil {
			t.Cleanup(func() { r.Body.Close() })
		}
		return r, err
	}

	t.Run("it reaches what is allowed, past any proxy of the environment", func(t *testing.T) {
		proxiedCount, acceptedCount := countConnections(t, "127.0.0.1:0", func(net.Conn) {})
		t.Setenv("HTTPS_PROXY", fmt.Sprintf("http://127.0.0.1:%d", proxiedCount))
		u := start(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
		r, err := get(t, New(loopbackRules()), u.String())
		require.NoError(t, err)
		if b, err := io.ReadAll(r.Body); string(b) != "here" || err != nil || acceptedCount.Load() != 0 {
			t.Errorf("%q, %v, %d connections to the proxy", b, err, acceptedCount.Load())
		}
	})

	isReached := false
	forbidden := start(t, "127.0.0.2:0", func(http.ResponseWriter, *http.Request) { isReached = true })
	for name, location := range map[string]string{
		"a forbidden address": forbidden.String(), "a name that leads to one": "https://db.example.com:" +
			forbidden.Port() + "/",
		"http": "http://127.0.0.1:1/", "a file": "file:///etc/passwd",
	} {
		t.Run("it is not redirected to "+name, func(t *testing.T) {
			u := start(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, location, http.StatusFound)
			})
			r := loopbackRules()
			r.Resolve = resolves(netip.MustParseAddr("127.0.0.2"))
			if _, err := get(t, New(r), u.String()); !errors.Is(err, connection.NetworkNotAllowed) || isReached {
				t.Errorf("error = %v, reached %v", err, isReached)
			}
		})
	}

	t.Run("a name that means a forbidden address the second time is not reached", func(t *testing.T) {
		u := start(t, "127.0.0.1:0", func(http.ResponseWriter, *http.Request) {})
		var askedCount atomic.Int32
		r := loopbackRules()
		r.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			if askedCount.Add(1) == 1 {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}
			return []netip.Addr{netip.MustParseAddr("127.0.0.2")}, nil
		}
		d := New(r)
		if _, err := get(t, d, "https://db.example.com:"+u.Port()); err != nil {
			t.Errorf("the first time: %v", err)
		}
		if _, err := get(t, d, "https://db.example.com:"+u.Port()); !errors.Is(err, connection.NetworkNotAllowed) {
			t.Errorf("the second time: %v", err)
		}
	})

	t.Run("no more than three redirects are followed", func(t *testing.T) {
		n := 0
		u := start(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
			n++
			http.Redirect(w, r, r.URL.String()+"x", http.StatusFound)
		})
		if _, err := get(t, New(loopbackRules()), u.String()); err == nil || n > maxRedirects+1 {
			t.Errorf("%d requests, %v", n, err)
		}
	})

	t.Run("an answer is bounded to its bytes on the wire", func(t *testing.T) {
		u := start(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
			for b := make([]byte, 4096); ; {
				if _, err := w.Write(b); err != nil {
					return
				}
			}
		})
		r, err := get(t, New(loopbackRules()), u.String())
		require.NoError(t, err)
		if n, err := io.Copy(io.Discard, r.Body); !errors.Is(err, connection.ResponseTooLarge) || n > 1<<20 {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}
