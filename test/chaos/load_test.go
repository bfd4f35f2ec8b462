package chaos

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

type object = map[string]any

// load is a set of writers that write and read back what they wrote, each in its own area, as fast as responses
// arrive. Every request is valid, so every response other than success needs an excuse.
type load struct {
	t     *testing.T
	token string
	node  func() *program.Node // returns a node that accepts requests
	// returns why a response may be a failure, or "" if it may not; nil: no failure is excused
	excuse func(*answer) string
	mortal bool        // nodes may be killed
	pace   func() bool // waits before each request; false: the load has ended; nil: it does not wait
	shop   object      // the credential of a warehouse
	ledger *ledger
	client http.Client

	answered atomic.Int64
	refused  atomic.Int64 // requests that failed with an excuse
	number   atomic.Int64 // makes names unique
	flight   sync.RWMutex // held by requests that are under way
	stop     chan struct{}
	running  sync.WaitGroup
}

// newLoad returns a load on the nodes that node chooses, with token.
func newLoad(t *testing.T, token string, node func() *program.Node) *load {
	t.Helper()
	u, err := url.Parse(services.Postgres(t))
	require.NoError(t, err)
	port, err := strconv.Atoi(u.Port())
	require.NoError(t, err)
	password, _ := u.User.Password()
	return &load{
		t: t, token: token, node: node, ledger: newLedger(),
		shop: object{
			"host": u.Hostname(), "port": port, "database": strings.TrimPrefix(u.Path, "/"),
			"username": u.User.Username(), "password": password + "-", "tls": "disable",
		},
		client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * len(writers)}},
	}
}

// begin starts the writers. They write until end, or the end of the test.
func (l *load) begin() {
	l.stop = make(chan struct{})
	l.t.Cleanup(l.end)
	for _, w := range writers {
		l.running.Go(func() {
			for first := true; ; first = false {
				select {
				case <-l.stop:
					return
				default:
				}
				if !w(l, first) {
					l.pause(10 * time.Millisecond) // as a refused client does
				}
			}
		})
	}
}

// pause waits for d, or until the load ends.
func (l *load) pause(d time.Duration) {
	select {
	case <-l.stop:
	case <-time.After(d):
	}
}

// end stops the writers and waits for all responses.
func (l *load) end() {
	select {
	case <-l.stop: // it has ended
	default:
		close(l.stop)
	}
	l.running.Wait()
	l.client.CloseIdleConnections()
}

// answers waits for n more responses.
func (l *load) answers(extra int64) {
	l.t.Helper()
	for goal, late := l.answered.Load()+extra,
		time.Now().Add(patience); l.answered.Load() < goal; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			l.t.Fatalf("within %s not even %d requests were answered", patience, extra)
		}
	}
}

// during runs the writers while f runs.
func (l *load) during(f func()) {
	l.begin()
	defer l.end()
	f()
}

// answer is the result of a request.
type answer struct {
	call, text string
	status     int
	header     http.Header
	begun      time.Time
	took       time.Duration
}

func (a *answer) String() string {
	return fmt.Sprintf("%s answered %d after %s: %.300s", a.call, a.status, a.took.Round(time.Millisecond), a.text)
}

// decode reads members of the body.
func (a *answer) decode(t *testing.T, target any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.text), target); err != nil {
		t.Errorf("%s: %v", a, err)
	}
}

// id returns the id in the body.
func (a *answer) id(t *testing.T) string {
	t.Helper()
	var thing struct{ ID string }
	a.decode(t, &thing)
	return thing.ID
}

// try sends a request and returns its result. Headers have the form "Name: value".
func (l *load) try(method, path string, body any, headers ...string) (*answer, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	l.flight.RLock()
	defer l.flight.RUnlock()
	r, err := http.NewRequestWithContext(l.t.Context(), method, l.node().URL+path, strings.NewReader(string(content)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+l.token)
	if body == nil {
		r.Body = http.NoBody
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	start := time.Now()
	resp, err := l.client.Do(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	a := &answer{call: method + " " + path, text: string(text), status: resp.StatusCode, header: resp.Header,
		begun: start, took: time.Since(start)}
	if err == nil && a.status >= 400 {
		resp.Body = io.NopCloser(strings.NewReader(a.text))
		conformance.CheckResponse(l.t, r, resp)
	}
	return a, err
}

// do is try for writers. It reports whether the request succeeded.
func (l *load) do(method, path string, body any, headers ...string) (a *answer, done bool) {
	if l.pace != nil && !l.pace() {
		return nil, false
	}
	a, err := l.try(method, path, body, headers...)
	switch {
	case err != nil && (l.mortal || l.t.Context().Err() != nil):
		return nil, false
	case err != nil:
		l.t.Errorf("%s %s was not answered: %v", method, path, err)
		return nil, false
	}
	l.answered.Add(1)
	if a.status < 300 {
		return a, true
	}
	if path == presence && a.status == http.StatusTooManyRequests { // more often than any client does
		l.pause(time.Second)
		return a, false
	}
	reason := ""
	if l.excuse != nil {
		reason = l.excuse(a)
	}
	if l.refused.Add(1); reason == "" {
		l.t.Errorf("%s", a)
	}
	return a, false
}

// reads gets an acknowledged thing, and expects that it is unchanged.
func (l *load) reads(path, member, want string) bool {
	a, done := l.do("GET", path, nil)
	if !done {
		return false
	}
	var got object
	if a.decode(l.t, &got); got[member] != want {
		l.t.Errorf("%s: %s is %v, want %s", a, member, got[member], want)
	}
	return true
}

// name returns a unique name.
func (l *load) name() string { return fmt.Sprint("load ", l.number.Add(1)) }
