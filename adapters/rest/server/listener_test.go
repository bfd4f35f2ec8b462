package server

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"
)

// TestAcceptedConnectionsAreLikeThoseOfPackageNet runs the tests for implementations of net.Conn.
func TestAcceptedConnectionsAreLikeThoseOfPackageNet(t *testing.T) {
	nettest.TestConn(t, func() (accepted, client net.Conn, stop func(), err error) {
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, nil, err
		}
		l := Listener(inner)
		defer l.Close()
		if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
			return nil, nil, nil, err
		}
		if accepted, err = l.Accept(); err != nil {
			return nil, nil, nil, err
		}
		return accepted, client, func() {
			accepted.Close()
			client.Close()
		}, nil
	})
}

// TestDeadlinesChangeWhileCallsWait changes the deadline of a call a second after it has begun.
func TestDeadlinesChangeWhileCallsWait(t *testing.T) {
	const text = "of which the other end reads four bytes at first"
	calls := map[string]struct {
		call func(*conn) (int, error)
		set  func(*conn, time.Time) error
	}{
		"a read": {
			func(c *conn) (int, error) { return c.Read(make([]byte, 10)) }, (*conn).SetReadDeadline,
		},
		"a read of one byte": {
			func(c *conn) (int, error) { return c.Read(make([]byte, 1)) }, (*conn).SetReadDeadline,
		},
		"a write": {
			func(c *conn) (int, error) { return c.Write([]byte(text)) }, (*conn).SetWriteDeadline,
		},
	}
	for name, tt := range map[string]struct {
		first, second time.Duration // after the begin; 0 for none
		ends          time.Duration // 0 if it does not, within an hour
	}{
		"put off":         {2 * time.Second, 5 * time.Second, 5 * time.Second},
		"brought forward": {5 * time.Second, 2 * time.Second, 2 * time.Second},
		"set":             {0, 2 * time.Second, 2 * time.Second},
		"passed":          {5 * time.Second, -time.Second, time.Second},
		"taken away":      {2 * time.Second, 0, 0},
	} {
		for kind, one := range calls {
			t.Run(kind+" whose deadline is "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					inner, client := net.Pipe()
					defer client.Close()
					c := newConn(inner)
					start := time.Now()
					after := func(d time.Duration) time.Time {
						if d == 0 {
							return time.Time{}
						}
						return start.Add(d)
					}
					if err := one.set(c, after(tt.first)); err != nil {
						t.Fatal(err)
					}
					ended := make(chan error, 1)
					go func() {
						_, err := one.call(c)
						ended <- err
					}()
					time.Sleep(time.Second)
					if err := one.set(c, after(tt.second)); err != nil {
						t.Fatal(err)
					}
					select {
					case err := <-ended:
						if took := time.Since(start); took != tt.ends || !errors.Is(err, os.ErrDeadlineExceeded) {
							t.Errorf("it ended after %s with %v, want %s", took, err, tt.ends)
						}
					case <-time.After(time.Hour):
						if tt.ends != 0 {
							t.Errorf("it had not ended after an hour, want %s", tt.ends)
						}
					}
				})
			})
		}
	}
}

// TestAWriteWhoseDeadlineIsPutOffSendsEachByteOnce writes to a client that reads a part before the first deadline.
func TestAWriteWhoseDeadlineIsPutOffSendsEachByteOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, client := net.Pipe()
		c := newConn(inner)
		const text = "a text of several words"
		if err := c.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		written := make(chan int, 1)
		go func() {
			n, err := c.Write([]byte(text))
			if err != nil {
				t.Error(err)
			}
			c.Close()
			written <- n
		}()
		part := make([]byte, 6)
		if _, err := io.ReadFull(client, part); err != nil {
			t.Fatal(err)
		}
		if err := c.SetWriteDeadline(time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		rest, err := io.ReadAll(client)
		if got := string(part) + string(rest); got != text || err != nil {
			t.Errorf("the client read %q, %v", got, err)
		}
		if n := <-written; n != len(text) {
			t.Errorf("the write reports %d bytes, want %d", n, len(text))
		}
	})
}

// countingConn counts the deadlines that are set.
type countingConn struct {
	net.Conn
	set atomic.Int64
}

func (c *countingConn) SetReadDeadline(t time.Time) error {
	c.set.Add(1)
	return c.Conn.SetReadDeadline(t)
}

func (c *countingConn) SetWriteDeadline(t time.Time) error {
	c.set.Add(1)
	return c.Conn.SetWriteDeadline(t)
}

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

// serveOne serves one connection in memory, and returns it and its client.
func serveOne(t *testing.T, h http.HandlerFunc) (counted *countingConn, client net.Conn) {
	accepted, client := net.Pipe()
	counted = &countingConn{Conn: accepted}
	l := &pipes{accepted: make(chan net.Conn, 1), closed: make(chan struct{})}
	l.accepted <- counted
	server := HTTPServer(Config{ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute}, h, slog.New(slog.DiscardHandler))
	go func() { _ = server.Serve(Listener(l)) }()
	t.Cleanup(func() {
		client.Close()
		_ = server.Close()
	})
	return counted, client
}

// post is the header of a request with a body of four bytes.
const post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n"

func TestFewDeadlinesOfRequestsReachTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counted, client := serveOne(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
		in := bufio.NewReader(client)
		for range 1000 {
			if _, err := io.WriteString(client, post+"beat"); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(resp.Body); string(body) != "beat" || err != nil {
				t.Fatalf("%q, %v", body, err)
			}
			time.Sleep(time.Millisecond)
		}
		if n := counted.set.Load(); n > 10 {
			t.Errorf("1,000 requests in a second set %d deadlines", n)
		}
	})
}

func TestAHandlerLearnsThatItsClientIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, took := make(chan struct{}), make(chan time.Duration, 1)
		_, client := serveOne(t, func(_ http.ResponseWriter, r *http.Request) {
			close(running)
			start := time.Now()
			<-r.Context().Done()
			took <- time.Since(start)
		})
		if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-running
		client.Close()
		if got := <-took; got > watchAfter {
			t.Errorf("it learned it after %s", got)
		}
	})
}

func TestTimeoutsOfTheServerHold(t *testing.T) {
	for name, tt := range map[string]struct {
		send string
		want time.Duration
	}{
		"a client that sends nothing":          {"", 10 * time.Second},
		"a client that stops in the header":    {"GET / HTTP/1.1\r\nHost", 10 * time.Second},
		"a client that sends no other request": {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 2 * time.Minute},
		"a client that stops in the body":      {post + "b", 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, client := serveOne(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
				start := time.Now()
				go func() { _, _ = io.WriteString(client, tt.send) }()
				if _, err := io.Copy(io.Discard, client); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(start).Round(time.Second); got != tt.want {
					t.Errorf("it was cut off after %s, want %s", got, tt.want)
				}
			})
		})
	}
}
