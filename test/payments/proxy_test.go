package payments

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

// fault is what a proxy does to one call.
type fault int

const (
	slow         fault = iota // it forwards the call after a while
	limited                   // 429; the call is not forwarded
	denied                    // 401; likewise
	unavailable               // 503 with a page of the proxy; likewise
	reset                     // it breaks the connection instead of forwarding the call
	failedBefore              // 500, which is kept under the key; the call is not forwarded
	failedAfter               // 500 instead of the response, which is kept under the key
	dropped                   // it breaks the connection instead of responding
	truncated                 // half of the response
	webPage                   // an HTML page instead of the response, with the status 200
	silent                    // no response, although the call was forwarded
)

var faultNames = map[fault]string{
	slow: "slow", limited: "429", denied: "401", unavailable: "503", reset: "reset before effect",
	failedBefore: "500 kept, no effect", failedAfter: "500 kept after effect", dropped: "dropped after effect",
	truncated: "half a response", webPage: "a web page", silent: "no response after effect",
}

// proxy is between Stripe's adapter and the fake Stripe, and stages faults. A failure that it keeps is repeated for its
// key, as Stripe does (https://docs.stripe.com/error-low-level#idempotency).
type proxy struct {
	*httptest.Server
	forward *httputil.ReverseProxy

	mu   sync.Mutex
	what fault
	nth  int // the call that the fault is staged on; 0: none
	seen int // calls since the fault was chosen
	kept map[string]bool
}

// atProxy returns a proxy to an account. It ends with the test.
func atProxy(t *testing.T, api *stripeapi.Server) *proxy {
	t.Helper()
	account, err := url.Parse(api.URL)
	require.NoError(t, err)
	p := &proxy{kept: map[string]bool{}}
	p.forward = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(account) },
		ModifyResponse: p.spoil,
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { hangUp(w) },
	}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

// stage stages a fault on the nth of the following calls; 0: on none.
func (p *proxy) stage(what fault, nth int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.nth, p.seen = what, nth, 0
}

// calls returns the number of calls since a fault was chosen.
func (p *proxy) calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// forget forgets the failures that are kept, as Stripe does after a day.
func (p *proxy) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.kept)
}

// staged is the key of a call's fault in the context of its request.
type staged struct{}

const failure = `{"error":{"type":"api_error"}}`

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what, hit, again := p.take(r)
	switch {
	case again:
		w.Header().Set("Idempotent-Replayed", "true")
		respond(w, http.StatusInternalServerError, failure)
		return
	case !hit:
		p.forward.ServeHTTP(w, r)
		return
	}
	switch what {
	case slow:
		select {
		case <-time.After(300 * time.Millisecond):
		case <-r.Context().Done():
		}
	case limited:
		w.Header().Set("Retry-After", "1")
		respond(w, http.StatusTooManyRequests, `{"error":{"type":"invalid_request_error","code":"rate_limit"}}`)
		return
	case denied:
		respond(w, http.StatusUnauthorized, `{"error":{"type":"invalid_request_error"}}`)
		return
	case unavailable:
		respond(w, http.StatusServiceUnavailable, "<html>The server cannot be reached.</html>")
		return
	case reset:
		hangUp(w)
		return
	case failedBefore:
		respond(w, http.StatusInternalServerError, failure)
		return
	}
	p.forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), staged{}, what)))
}

// take counts a call, and returns whether the fault hits it, and whether a failure is kept for its key. Only POST has
// keys.
func (p *proxy) take(r *http.Request) (what fault, hit, again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen++
	key := r.Header.Get("Idempotency-Key")
	if r.Method != http.MethodPost {
		key = ""
	}
	again, hit = p.kept[key], p.seen == p.nth
	if key != "" && hit && (p.what == failedBefore || p.what == failedAfter) {
		p.kept[key] = true
	}
	return p.what, hit, again
}

// spoil changes the response of a call that has had its effect.
func (p *proxy) spoil(resp *http.Response) error {
	what, _ := resp.Request.Context().Value(staged{}).(fault)
	text := ""
	switch what {
	case failedAfter:
		resp.StatusCode, text = http.StatusInternalServerError, failure
	case truncated:
		all, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		text = string(all[:len(all)/2])
	case webPage:
		text = "<html>Sign in to the network.</html>"
		resp.Header.Set("Content-Type", "text/html")
	case dropped:
		return errors.New("the connection breaks")
	case silent:
		<-resp.Request.Context().Done() // the client has disconnected
		return resp.Request.Context().Err()
	default:
		return nil
	}
	resp.Body.Close()
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	resp.Header.Del("Content-Length")
	return nil
}

func respond(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// hangUp resets the connection of a client.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, is := conn.(*net.TCPConn); is {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
