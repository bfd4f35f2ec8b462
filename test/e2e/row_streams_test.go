package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestAStreamOfRowsLeavesNothingBehind ends streams of an endless table in each way in which they can: neither a child
// process, nor a connection of the warehouse, nor an open file is left, and each client learns that rows are missing.
func TestAStreamOfRowsLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, toShops)
	ann := s.user(t, "admin")
	shop := newShop(t)
	shop.sql(t, shop.name, `CREATE VIEW endless AS SELECT 'user' || g || '@example.com' AS email
		FROM (SELECT generate_series(1, 1000000000) AS g) AS s`)
	attach := func() (rows, connection string, proxy *fixture.Proxy) {
		seen, proxy := shop.through(t)
		connection = ann.create(t, connections, seen.connection(fixture.Canary)).at("id")
		body := shop.people(t, connection)
		body["location"].(object)["table"] = "endless"
		return sources + "/" + ann.create(t, sources, body).at("id") + "/rows?fields=email", connection, proxy
	}
	slowRows, _, slowProxy := attach()
	slow, endSlow := openRows(t, ann, slowRows) // is read no further, until the server disconnects it
	defer endSlow()

	rows, connection, proxy := attach()
	children, files := childrenOf(t, s), s.openFiles(t)
	nothingIsLeft := func(t *testing.T) {
		t.Helper()
		awaits(t, "the connection of the warehouse is closed", s, func() bool { return proxy.Open() == 0 })
		awaits(t, "no child is left", s, func() bool { return len(childrenOf(t, s)) <= len(children) })
		awaits(t, "no file is left", s, func() bool { return s.openFiles(t) <= files })
	}
	t.Run("of a client that is gone", func(t *testing.T) {
		_, end := openRows(t, ann, rows)
		end()
		nothingIsLeft(t)
	})
	t.Run("of a child that is killed", func(t *testing.T) {
		in, end := openRows(t, ann, rows)
		defer end()
		for _, pid := range childrenOf(t, s) {
			if !slices.Contains(children, pid) {
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			}
		}
		in.endsWith(t, "upstream_failed")
		nothingIsLeft(t)
	})
	t.Run("and a long one takes little time and memory", func(t *testing.T) { longStream(t, ann, shop) })
	t.Run("of a connection that is revoked", func(t *testing.T) {
		in, end := openRows(t, ann, rows)
		defer end()
		previous := time.Now()
		ann.do(t, "DELETE", connections+"/"+connection, nil).is(t, 200)
		in.endsByRevocation(t)
		proof.Within(t, "a revoked stream", time.Since(previous), 2*time.Second)
		nothingIsLeft(t)
	})
	t.Run("of a database that ends the session", func(t *testing.T) {
		rows, _, proxy := attach()
		in, end := openRows(t, ann, rows)
		defer end()
		proxy.Cut()
		in.endsWith(t, "source_disconnected")
		awaits(t, "no child is left", s, func() bool { return len(childrenOf(t, s)) <= len(children) })
	})
	t.Run("of a client that stops reading", func(t *testing.T) {
		awaits(t, "the connection of the warehouse is closed", s, func() bool { return slowProxy.Open() == 0 })
		if _, err := io.Copy(io.Discard, slow); err == nil {
			t.Error("the stream ends as if it were complete")
		}
	})
	t.Run("of a server that is killed", func(t *testing.T) {
		rows, _, proxy := attach()
		in, end := openRows(t, ann, rows)
		defer end()
		children := childrenOf(t, s)
		s.kill(t)
		if _, err := io.Copy(io.Discard, in); err == nil {
			t.Error("the stream ends as if it were complete")
		}
		awaits(t, "the connection of the warehouse is closed", s, func() bool { return proxy.Open() == 0 })
		awaits(t, "no child is left", s, func() bool {
			return !slices.ContainsFunc(children, func(pid int) bool {
				return syscall.Kill(pid, 0) == nil && !isZombie(pid)
			})
		})
	})
}

// rowsReader reads a stream of rows as lines of JSON.
type rowsReader struct {
	*bufio.Reader
	response *http.Response
}

// last reads the stream to its end, and returns the last line.
func (r *rowsReader) last() (last string, err error) {
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return last, nil
		}
		if err != nil {
			return last, err
		}
		last = line
	}
}

// endsWith reads the stream to its end, which must be the reason for which rows are missing.
func (r *rowsReader) endsWith(t *testing.T, code string) {
	t.Helper()
	last, err := r.last()
	require.NoError(t, err)
	var end struct {
		Error struct {
			Code    string `json:"code"`
			Detail  string `json:"detail"`
			LastRow int    `json:"last_row"`
		} `json:"$error"`
	}
	if err := json.Unmarshal([]byte(last), &end); err != nil || end.Error.Code != code || end.Error.Detail == "" ||
		end.Error.LastRow == 0 || r.response.Trailer.Get("Atrium-Error") != code {
		t.Errorf("the stream ends with %q and the trailer %v, %v; want %s", last, r.response.Trailer, err, code)
	}
}

// endsByRevocation reads the stream to its end. If the machine is so busy that the last write takes too long, the
// server closes the connection instead of writing the reason.
func (r *rowsReader) endsByRevocation(t *testing.T) {
	t.Helper()
	if last, err := r.last(); err == nil && !strings.HasPrefix(last, `{"$error":{"code":"connection_revoked"`) {
		t.Errorf("the stream ends as if it were complete: %s", last)
	}
}

// openRows begins to read a stream of rows.
func openRows(t *testing.T, formatClient *client, path string) (*rowsReader, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, formatClient.server.url+path, nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+formatClient.token)
	request.Header.Set("Accept", "application/x-ndjson")
	ownTransport := &http.Transport{}
	response, err := ownTransport.RoundTrip(request)
	require.NoError(t, err)
	end := func() { cancel(); _ = response.Body.Close(); ownTransport.CloseIdleConnections() }
	in := &rowsReader{bufio.NewReader(response.Body), response}
	if line, err := in.ReadString('\n'); err != nil || response.StatusCode != http.StatusOK {
		end()
		t.Fatalf("%d, %q, %v", response.StatusCode, line, err)
	}
	return in, end
}

// childrenOf returns the child processes of a server that run.
func childrenOf(t *testing.T, s *server) (all []int) {
	t.Helper()
	for _, pid := range fixture.ChildrenOf(s.process.Process.Pid) {
		if !isZombie(pid) {
			all = append(all, pid)
		}
	}
	return all
}

// isZombie reports whether a process has ended, and its parent has not noticed.
func isZombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, next, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(next, "Z")
}
