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

	"github.com/atrium-hq/atrium/test/fixture"
	"github.com/atrium-hq/atrium/test/program"
	"github.com/atrium-hq/atrium/test/services"
)

type object = map[string]any

// load is people who write and read back what they wrote, each in an area of their own, as fast as they
// are answered. Every request is legal, so that every answer but a success needs an excuse.
type load struct {
	t      *testing.T
	token  string
	node   func() *program.Node // one that takes requests
	excuse func(*answer) string // why an answer may be no success; empty: it may not. nil: none may
	mortal bool                 // nodes may go without a word
	shop   object               // the credential of a warehouse
	ledger *ledger
	client http.Client

	answered atomic.Int64
	refused  atomic.Int64 // of them, with an excuse
	number   atomic.Int64 // makes names unique
	flight   sync.RWMutex // held by requests that are under way
	stop     chan struct{}
	running  sync.WaitGroup
}

// newLoad is a load on the nodes that node chooses, by the bearer of token.
func newLoad(t *testing.T, token string, node func() *program.Node) *load {
	t.Helper()
	u, err := url.Parse(services.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
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

// begin lets everybody write until end, which comes with the test's at the latest.
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
					l.pause(10 * time.Millisecond) // as a client does that was refused
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

// end waits until everybody has been answered.
func (l *load) end() {
	select {
	case <-l.stop: // it has ended
	default:
		close(l.stop)
	}
	l.running.Wait()
	l.client.CloseIdleConnections()
}

// answers waits until so many requests more have been answered.
func (l *load) answers(more int64) {
	l.t.Helper()
	for goal, late := l.answered.Load()+more, time.Now().Add(patience); l.answered.Load() < goal; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			l.t.Fatalf("within %s not even %d requests were answered", patience, more)
		}
	}
}

// during lets everybody write while f runs.
func (l *load) during(f func()) {
	l.begin()
	defer l.end()
	f()
}

// answer is what a request came to.
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
func (a *answer) decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.text), into); err != nil {
		t.Errorf("%s: %v", a, err)
	}
}

// id is that of the thing in the body.
func (a *answer) id(t *testing.T) string {
	t.Helper()
	var thing struct{ ID string }
	a.decode(t, &thing)
	return thing.ID
}

// try sends a request, and returns what it came to. Headers read "Name: value".
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
	begun := time.Now()
	resp, err := l.client.Do(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	a := &answer{call: method + " " + path, text: string(text), status: resp.StatusCode, header: resp.Header, begun: begun, took: time.Since(begun)}
	if err == nil && a.status >= 400 {
		resp.Body = io.NopCloser(strings.NewReader(a.text))
		fixture.CheckResponse(l.t, r, resp)
	}
	return a, err
}

// do is try for those who write; whether it was done is what matters to them.
func (l *load) do(method, path string, body any, headers ...string) (a *answer, done bool) {
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
	why := ""
	if l.excuse != nil {
		why = l.excuse(a)
	}
	if l.refused.Add(1); why == "" {
		l.t.Errorf("%s", a)
	}
	return a, false
}

// reads gets what was acknowledged, and expects to find it as it was.
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

// name is one that nothing else has.
func (l *load) name() string { return fmt.Sprint("load ", l.number.Add(1)) }
