package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestHostileConnections opens hostile connections: silent ones, slow ones, and ones that do not speak HTTP. Meanwhile
// another client must be served, and afterwards every connection must be closed.
func TestHostileConnections(t *testing.T) {
	t.Parallel()
	idle, size, limit := 300, 2, time.Duration(0)
	if proof.Running() {
		idle, size, limit = 10_000, 40, time.Second
	}
	s := start(t, sqlite, set("server.read_timeout", "6s"), set("log.level", "info"))
	ann := s.user(t, "owner")
	ann.get(t, "/api/me")
	open := s.openFiles(t)
	other := ann.keepAsking(t)

	t.Run("attacks", func(t *testing.T) {
		var all sync.WaitGroup
		places := make(chan struct{}, 60)
		for range size {
			for name, attack := range attacks {
				places <- struct{}{}
				all.Go(func() {
					defer func() { <-places }()
					c, err := s.dial(ann.token)
					if err != nil {
						t.Errorf("%s: %v", name, err)
						return
					}
					defer c.Close()
					if err := attack(c); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
		}
		all.Wait()
	})
	t.Run("idle connections", func(t *testing.T) {
		count := s.resident(t)
		connections := s.idle(t, idle, ann.token)
		t.Logf("%d idle connections take %d KiB each", len(connections), (s.resident(t)-count)>>10/len(connections))
		if grown := s.resident(t) - count; grown > len(connections)*64<<10+mostGrowth {
			t.Errorf("%d idle connections take %d MiB", len(connections), grown>>20)
		}
		for _, c := range connections {
			c.Close()
		}
	})

	worst, calls := other()
	t.Logf("somebody else asked %d times, and waited for %v at most", calls, worst)
	if calls == 0 || (limit > 0 && worst > limit) {
		t.Errorf("of %d requests of somebody else's one took %v", calls, worst)
	}
	// The pools of the database may have grown: each of ten readers has two files.
	proof.Await(t, fmt.Sprint("about ", open, " files are open, as before"), func() int { return s.openFiles(t) },
		func(remainder int) bool { return remainder <= open+20 })
}

// keepAsking sends requests on a kept connection and on new ones, until done returns the result.
func (c *client) keepAsking(t *testing.T) (done func() (worst time.Duration, calls int)) {
	t.Helper()
	stop, endedSignal := make(chan struct{}), make(chan struct{})
	var worst time.Duration
	askedCount := 0
	go func() {
		defer close(endedSignal)
		for transport := new(http.Transport); ; askedCount++ {
			select {
			case <-stop:
				transport.CloseIdleConnections()
				return
			default:
			}
			if askedCount%10 == 0 {
				transport.CloseIdleConnections()
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.server.url+"/api/me", nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+c.token)
			begin := time.Now()
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Errorf("somebody else: %v", err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if worst = max(worst, time.Since(begin)); resp.StatusCode != 200 {
				t.Errorf("somebody else was answered %d", resp.StatusCode)
				return
			}
			pause(t.Context(), 5*time.Millisecond) // a person, no load
		}
	}()
	return func() (time.Duration, int) { close(stop); <-endedSignal; return worst, askedCount }
}

// idle opens as many connections as the system permits. Every other one has had one response.
func (s *server) idle(t *testing.T, n int, token string) []net.Conn {
	t.Helper()
	connections := make([]net.Conn, n)
	var all sync.WaitGroup
	for worker := range 20 {
		all.Go(func() {
			for i := worker; i < n; i += 20 {
				c, err := s.dial(token)
				if err != nil {
					t.Errorf("connection %d: %v", i, err)
					return
				}
				connections[i] = c
				if i%2 == 0 {
					if status, _, err := c.ask("GET /api/me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + token +
						"\r\n\r\n"); err != nil || status != 200 {
						t.Errorf("connection %d: %d, %v", i, status, err)
						return
					}
				}
			}
		})
	}
	all.Wait()
	return slices.DeleteFunc(connections, func(c net.Conn) bool { return c == nil })
}

// rawConnection is a connection on which a test writes arbitrary bytes.
type rawConnection struct {
	net.Conn
	from  *bufio.Reader
	token string
}

func (s *server) dial(token string) (*rawConnection, error) {
	c, err := net.DialTimeout("tcp", strings.TrimPrefix(s.url, "http://"), patience)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(2 * patience))
	return &rawConnection{Conn: c, from: bufio.NewReader(c), token: token}, nil
}

// ask writes a text and reads one answer; status is 0 if the server ends the connection without.
func (c *rawConnection) ask(text string) (status int, closes bool, err error) {
	if _, err := io.WriteString(c, text); err != nil && !strings.Contains(err.Error(), "reset") &&
		!strings.Contains(err.Error(), "broken pipe") {
		return 0, true, err
	}
	return c.answer()
}

func (c *rawConnection) answer() (status int, closes bool, err error) {
	resp, err := http.ReadResponse(c.from, nil)
	if err != nil {
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			return 0, false, fmt.Errorf("the server holds the connection, and says nothing")
		}
		return 0, true, nil
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp.StatusCode, resp.Close || err != nil, nil
}

// openFiles returns the number of open files and connections of a process.
func (s *server) openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.process.Process.Pid))
	require.NoError(t, err)
	return len(entries)
}

var residentMemory = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB`)

// resident returns the resident memory of a process, in bytes.
func (s *server) resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	require.NoError(t, err)
	kib, err := strconv.Atoi(residentMemory.FindStringSubmatch(string(text))[1])
	require.NoError(t, err)
	return kib << 10
}
