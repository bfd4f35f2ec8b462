package server

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// pipes is a listener of connections in memory.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// serveOne serves one connection in memory, and returns its client.
func serveOne(t *testing.T, h http.HandlerFunc) (client net.Conn) {
	acceptedConnection, client := net.Pipe()
	l := &pipes{accepted: make(chan net.Conn, 1), closed: make(chan struct{})}
	l.accepted <- acceptedConnection
	server := HTTPServer(Config{ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 40 * time.Second, IdleTimeout: 2 * time.Minute}, h, slog.New(slog.DiscardHandler))
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		client.Close()
		_ = server.Close()
	})
	return client
}

func TestTimeoutsOfTheServerHold(t *testing.T) {
	for name, tt := range map[string]struct {
		send string
		want time.Duration
	}{
		"a client that sends nothing":          {"", 10 * time.Second},
		"a client that stops in the header":    {"GET / HTTP/1.1\r\nHost", 10 * time.Second},
		"a client that sends no other request": {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 2 * time.Minute},
		"a client that stops in the body": {
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nb", 30 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := serveOne(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
				start := time.Now()
				go func() { _, _ = io.WriteString(client, tt.send) }()
				if _, err := io.Copy(io.Discard, client); err != nil {
					t.Fatal(err)
				}
				assert.Equal(t, "it was cut off after", time.Since(start).Round(time.Second), tt.want)
			})
		})
	}
}

func TestAReaderThatIsTooSlowIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failedDurations := make(chan time.Duration, 1)
		client := serveOne(t, func(w http.ResponseWriter, _ *http.Request) {
			start := time.Now()
			for {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					failedDurations <- time.Since(start)
					return
				}
			}
		})
		if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		assert.Equal(t, "it was cut off after", <-failedDurations, 40*time.Second)
	})
}
