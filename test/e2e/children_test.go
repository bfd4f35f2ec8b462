package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/require"
)

// silence is a host that accepts connections and sends nothing, and counts the open ones.
type silence struct {
	net.Listener
	mu         sync.Mutex
	open, most int
	accepted   chan struct{} // one for each
	hangUp     func()        // closes all connections, and accepts no more
}

func newSilence(t *testing.T) *silence {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &silence{Listener: l, accepted: make(chan struct{}, 10_000)}
	var open sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	s.hangUp = func() { _ = l.Close(); cancel(); open.Wait() }
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.count(1)
			s.accepted <- struct{}{}
			open.Go(func() {
				defer s.count(-1)
				stop := context.AfterFunc(ctx, func() { _ = c.Close() })
				defer stop()
				for b := make([]byte, 1024); ; {
					if _, err := c.Read(b); err != nil {
						_ = c.Close()
						return
					}
				}
			})
		}
	})
	t.Cleanup(s.hangUp)
	return s
}

func (s *silence) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open += n
	s.most = max(s.most, s.open)
}

func (s *silence) port() int {
	_, port, _ := net.SplitHostPort(s.Addr().String())
	n, _ := strconv.Atoi(port)
	return n
}

// sheet returns the path for a preview of a sheet on the host.
func (s *silence) sheet() string {
	return fmt.Sprintf("%s/sheet-preview?url=https%%3A%%2F%%2F127.0.0.1%%3A%d%%2Fa.csv", sources, s.port())
}

// besiege sends requests repeatedly from n goroutines until stop is called.
func besiege(t *testing.T, n int, ask func(i int)) (stop func()) {
	t.Helper()
	done := make(chan struct{})
	var asking sync.WaitGroup
	for i := range n {
		asking.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(20 * time.Millisecond): // otherwise refused requests use up the CPU
					ask(i)
				}
			}
		})
	}
	return sync.OnceFunc(func() { close(done); asking.Wait() })
}

// unlimitedReads raises the limits of probes and previews.
func unlimitedReads(d *deployment) {
	for _, key := range []string{"workspace_per_minute", "target_per_hour"} {
		set("connections.probe_limits."+key, "10000")(d)
		set("connections.preview_limits."+key, "100000")(d)
	}
}

// TestTooManyReads gets, from each operation that reads a tenant's servers, the refusals for too many waiting reads of
// the workspace and for too many requests.
func TestTooManyReads(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, unlimitedReads, configured("orgs: [{slug: default, egress: {allow: [127.0.0.0/8, '::1']}}]"))
	ann, shop := s.user(t, "admin"), newShop(t)
	put(t, s, "people.csv", "Mail,Age\nada@example.com,36\n")
	attach := object{"type": "contacts", "location": object{"url": "file:people.csv"},
		"mapping": []object{{"field": "email", "column": "Mail"}}}
	source := ann.create(t, sources, attach).at("id")
	id := ann.create(t, connections, shop.connection("p")).at("id")
	attach["type"] = "faq"
	sheets := map[string][]any{
		"preview": {http.MethodGet, sources + "/sheet-preview?url=file:people.csv", nil},
		"attach":  {http.MethodPost, sources, attach},
		"rows":    {http.MethodGet, sources + "/" + source + "/rows", nil},
		"map":     {http.MethodPut, sources + "/" + source, object{"mapping": attach["mapping"]}},
	}
	warehouses := map[string][]any{
		"create": {http.MethodPost, connections + "?dry_run=true", shop.connection("p")},
		"verify": {http.MethodPost, connections + "/" + id + "/verify", nil},
		"list":   {http.MethodGet, sources + "/warehouse-preview?connection_id=" + id, nil},
		"table": {http.MethodGet, sources + "/warehouse-preview?connection_id=" + id + "&schema=public&table=orders",
			nil},
	}
	call := func(t *testing.T, c *client, values []any) *answer {
		method, _ := values[0].(string)
		path, _ := values[1].(string)
		return c.do(t, method, path, values[2])
	}
	for name, all := range map[string]map[string][]any{"sheets": sheets, "warehouses": warehouses} {
		t.Run("too many reads are waiting: "+name, func(t *testing.T) {
			host := newSilence(t)
			silent := shop.connection("p")
			silent["credential"].(object)["host"], silent["credential"].(object)["port"] = "127.0.0.1", host.port()
			ask := map[string]func() (*answer, error){
				"sheets":     func() (*answer, error) { return ann.try(t, http.MethodGet, host.sheet(), nil) },
				"warehouses": func() (*answer, error) { return ann.try(t, http.MethodPost, connections, silent) },
			}[name]
			full := make(chan struct{})
			fills := sync.OnceFunc(func() { close(full) })
			defer besiege(t, 25, func(int) {
				if a, err := ask(); err == nil && a.status == http.StatusTooManyRequests {
					fills()
				}
			})()
			defer host.hangUp()
			select {
			case <-full: // a call before would wait with the others, until the host's time is over
			case <-time.After(patience):
				t.Fatal("no read was refused")
			}
			for label, values := range all {
				t.Run(label, func(t *testing.T) {
					for end := time.Now().Add(patience); ; {
						a := call(t, ann, values)
						if a.status == http.StatusTooManyRequests {
							a.problem(t, 429, "too_many_reads")
							return
						}
						if time.Now().After(end) {
							t.Fatal(a)
						}
					}
				})
			}
		})
	}
	s.stop(t)

	set("connections.preview_limits.workspace_per_minute", "1")(s.deployment)
	second := s.deployment.start(t)
	call(t, ann.at(second), sheets["preview"])
	for _, values := range [][]any{sheets["preview"], sheets["attach"], sheets["map"], sheets["rows"],
		warehouses["list"],
		warehouses["table"]} {
		a := call(t, ann.at(second), values).problem(t, 429, "preview_rate_limited")
		if wait, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || wait < 1 || wait > 60 {
			t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
		}
	}
	call(t, ann.at(second), warehouses["verify"]).is(t, 200)
}

// put writes a file into the directory of sheets.
func put(t *testing.T, s *server, name, content string) {
	t.Helper()
	folder := filepath.Join(s.data, "sheets")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(strings.TrimLeft(content, "\n")), 0o600))
}
