package clients

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

// fault is what the proxy does with a request.
type fault int

const (
	none   fault = iota
	lose         // let the server act, and close the connection without a response
	refuse       // close the connection before the server sees the request
	page         // respond with a page of another program, and status 200
	move         // redirect to another address
	stall        // do not respond until the client gives up
	cut          // close the connection in the middle of the response
)

// script is what happens to the next requests: a fault, or a status with Retry-After.
type script struct {
	fault      fault
	status     int
	retryAfter string
}

// seen is a request that reached the proxy.
type seen struct {
	method, path, key string
	headers           http.Header
	body              string
}

// proxy forwards requests to a server, and breaks those that a test asks for.
type proxy struct {
	server *httptest.Server
	open   atomic.Int64 // requests

	mu      sync.Mutex
	forward *httputil.ReverseProxy
	next    []script
	seen    []seen
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	p := &proxy{}
	p.server = httptest.NewServer(p)
	// On a connection that it used before, Go's transport repeats requests with a key by itself.
	p.server.Config.SetKeepAlivesEnabled(false)
	t.Cleanup(func() {
		p.server.CloseClientConnections()
		p.server.Close()
	})
	return p
}

// forwardTo directs requests to another server.
func (p *proxy) forwardTo(t *testing.T, target string) {
	t.Helper()
	u, err := url.Parse(target)
	require.NoError(t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forward = &httputil.ReverseProxy{
		FlushInterval: -1, // events at once
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(u)
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
}

// breaks says what happens to the next requests.
func (p *proxy) breaks(next ...script) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = next
}

func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next, p.seen = nil, nil
}

// requests returns the requests since the last call.
func (p *proxy) requests() []seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.seen
	p.seen = nil
	return all
}

func (p *proxy) take(r *http.Request, body string) (script, *httputil.ReverseProxy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, seen{r.Method, r.URL.EscapedPath(), r.Header.Get("Idempotency-Key"),
		r.Header.Clone(), body})
	if len(p.next) == 0 {
		return script{}, p.forward
	}
	first := p.next[0]
	p.next = p.next[1:]
	return first, p.forward
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.open.Add(1)
	defer p.open.Add(-1)
	s, forward := p.take(r, string(body))
	switch {
	case s.status != 0:
		if s.retryAfter != "" {
			w.Header().Set("Retry-After", s.retryAfter)
		}
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, "<h1>a proxy's page</h1>")
	case s.fault == none:
		forward.ServeHTTP(w, r)
	case s.fault == lose:
		forward.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case s.fault == page:
		_, _ = io.WriteString(w, "<h1>please sign in to this network</h1>")
	case s.fault == move:
		w.Header().Set("Location", "http://localhost:1/elsewhere")
		w.WriteHeader(http.StatusFound)
	case s.fault == cut:
		full := httptest.NewRecorder()
		forward.ServeHTTP(full, r)
		_, _ = w.Write(full.Body.Bytes()[:full.Body.Len()/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case s.fault == stall:
		<-r.Context().Done()
	default:
		panic(http.ErrAbortHandler)
	}
}
