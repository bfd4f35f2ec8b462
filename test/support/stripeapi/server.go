// Package stripeapi is a fake of Stripe's API for tests, over HTTP. stripe-mock knows every parameter but has no state.
// This package knows only the calls that Atrium makes, and stores customers, payment methods, subscriptions, and every
// charge with its idempotency key. So tests can count what happened, even if responses were lost.
//
// It behaves as Stripe documents: idempotency keys (https://docs.stripe.com/api/idempotent_requests), stored failures
// (https://docs.stripe.com/error-low-level), subscriptions whose first charge is declined or requires authentication
// (https://docs.stripe.com/billing/subscriptions/overview), and schedules, which prevent other changes of when their
// subscription ends. It refuses undocumented calls, so that nothing can depend on them. It does not prove what Stripe
// does; adapters/stripe checks the shape of requests and responses against stripe-mock.
package stripeapi

import (
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// Server is an account at the fake Stripe. It ends with the test.
type Server struct {
	URL string

	t       testing.TB
	name    string // distinguishes the account's objects from those of others
	key     string // the account's secret key
	plans   payment.Plans
	mux     *http.ServeMux
	ended   chan struct{}
	mu      sync.Mutex // held while a call takes effect
	ahead   time.Duration
	made    int // numbers objects
	trouble Trouble
	answers map[string]*kept
	asked   map[string]int // number of calls of each kind

	customers     []*customer
	methods       map[string]*method
	setups        map[string]*setupIntent
	payments      map[string]*paymentIntent
	subscriptions []*subscription
	invoices      []*invoice
	checkouts     []*checkout
	charges       []Charge
	wrongs        []string
	promotions    []*PromotionCode
	usage         []meterEvent
}

var accounts atomic.Int64

// New starts an account that sells plans, each by its PriceRef, to callers that send key.
func New(t testing.TB, key string, plans payment.Plans) *Server {
	t.Helper()
	s := newServer(t, key, plans)
	server := httptest.NewServer(s)
	s.URL = server.URL
	t.Cleanup(func() {
		close(s.ended) // otherwise calls without a response keep it open
		server.Close()
	})
	return s
}

func newServer(t testing.TB, key string, plans payment.Plans) *Server {
	s := &Server{
		t: t, name: strconv.FormatInt(accounts.Add(1), 36), key: key, plans: plans, ended: make(chan struct{}),
		answers: map[string]*kept{}, asked: map[string]int{},
		methods: map[string]*method{}, setups: map[string]*setupIntent{}, payments: map[string]*paymentIntent{},
	}
	s.routes()
	return s
}

// Fault is a failure of a call.
type Fault int

// The faults, in the order in which they can happen.
const (
	None        Fault = iota
	RateLimited       // 429 before any check: no effect, and nothing is stored under the key
	Denied            // 401 before any check: no effect, and nothing is stored under the key
	Unavailable       // 503 from a proxy in front of the API: likewise
	Dropped           // the connection breaks before the call arrives
	Silent            // no response and no effect
	Failed            // 500 without effect, stored under the key
	FailedAfter       // 500 after the effect, stored under the key
	Lost              // the connection breaks after the effect
	SilentAfter       // no response after the effect
	Garbage           // a truncated response after the effect
)

// Call is a call that a Trouble decides about.
type Call struct {
	Method, Path, Key string
}

// Changes reports whether the call changes something.
func (c Call) Changes() bool { return c.Method != http.MethodGet }

// Trouble decides how a call fails and how long it lasts. It may be called concurrently.
type Trouble func(Call) (Fault, time.Duration)

// Provoke makes calls fail as trouble says from now on; nil ends that.
func (s *Server) Provoke(trouble Trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = trouble
}

// kept is the response that is stored for a key.
type kept struct {
	call   string // with its parameters
	at     time.Time
	status int
	body   []byte
}

// keptFor is the minimum time for which keys are stored.
const keptFor = 24 * time.Hour

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil { // reads the body, so that the server notices when the client disconnects
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := addBody(r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	call := Call{r.Method, r.URL.Path, r.Header.Get("Idempotency-Key")}
	s.mu.Lock()
	trouble := s.trouble
	s.mu.Unlock()
	fault := None
	if trouble != nil {
		var delay time.Duration
		fault, delay = trouble(call)
		select {
		case <-time.After(delay):
		case <-r.Context().Done(): // the client has disconnected
		}
	}
	switch fault {
	case RateLimited:
		refuse(w, refusal{429, "invalid_request_error", "rate_limit", "", ""})
		return
	case Denied:
		refuse(w, refusal{401, "invalid_request_error", "", "", ""})
		return
	case Unavailable:
		http.Error(w, "<html>nobody is there</html>", http.StatusServiceUnavailable)
		return
	case Dropped:
		hangUp(w)
		return
	case Silent:
		s.silence(r)
		return
	}
	status, body, replayed := s.answer(r, fault)
	switch fault {
	case Lost:
		hangUp(w)
		return
	case SilentAfter:
		s.silence(r)
		return
	case Garbage:
		body = body[:len(body)/2]
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", "req_standin")
	if replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// addBody adds the parameters in the body of a DELETE, which net/http does not read.
func addBody(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodDelete {
		return err
	}
	form, err := url.ParseQuery(string(body))
	for name, values := range form {
		r.Form[name] = append(r.Form[name], values...)
	}
	return err
}

func (s *Server) silence(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.ended:
	}
}

// hangUp resets the connection.
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

// answer carries out a call, or answers again what its key was answered. Keys count for POST alone.
func (s *Server) answer(r *http.Request, fault Fault) (status int, body []byte, replayed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+s.key {
		return encode(refusal{401, "invalid_request_error", "", "", ""})
	}
	now := s.now()
	s.roll(now)
	key, call := r.Header.Get("Idempotency-Key"), r.Method+" "+r.URL.Path+"?"+r.Form.Encode()
	keyed := r.Method == http.MethodPost && key != ""
	if len(key) > 255 { // https://docs.stripe.com/api/idempotent_requests
		return encode(refusal{400, "invalid_request_error", "", "", ""})
	}
	if was, there := s.answers[key]; keyed && there && now.Sub(was.at) <= keptFor {
		if was.call != call {
			return encode(refusal{400, "idempotency_error", "", "", ""})
		}
		return was.status, was.body, true
	}
	before := len(s.charges)
	var out any
	if fault == Failed && keyed {
		out = failed
	} else {
		out = s.dispatch(r)
	}
	for i := range s.charges[before:] {
		s.charges[before+i].Key = key
	}
	if fault == Failed || fault == FailedAfter {
		out = failed
	}
	status, body, _ = encode(out)
	if refused, is := out.(refusal); keyed && !(is && refused.unkept()) {
		s.answers[key] = &kept{call: call, at: now, status: status, body: body}
	}
	return status, body, false
}

// dispatch routes a call.
func (s *Server) dispatch(r *http.Request) (out any) {
	_, pattern := s.mux.Handler(r)
	if pattern == "" {
		s.t.Errorf("the stand-in for Stripe has no %s %s", r.Method, r.URL.Path)
		return refusal{404, "invalid_request_error", "", "", ""}
	}
	s.asked[pattern]++
	for name := range r.Form {
		root, _, _ := strings.Cut(name, "[")
		if !strings.Contains(" "+parameters[pattern]+" ", " "+root+" ") {
			s.t.Errorf("%s is called with %s", pattern, name)
			return refusal{400, "invalid_request_error", "parameter_unknown", "", root}
		}
	}
	into := &result{}
	s.mux.ServeHTTP(into, r)
	return into.out
}

// refusal is an answer that is an error.
type refusal struct {
	Status  int    `json:"-"`
	Type    string `json:"type"`
	Code    string `json:"code,omitempty"`
	Decline string `json:"decline_code,omitempty"`
	Param   string `json:"param,omitempty"`
}

// said is a refusal whose text matters.
type said struct {
	refusal
	text string
}

var failed = refusal{500, "api_error", "", "", ""}

// unkept reports whether no key remembers it: parameters are checked before a call begins.
func (r refusal) unkept() bool { return r.Code == "parameter_unknown" || r.Code == "parameter_missing" }

func missing(status int, param string) refusal {
	return refusal{status, "invalid_request_error", "resource_missing", "", param}
}

func invalid(param string) refusal { return refusal{400, "invalid_request_error", "", "", param} }

func encode(out any) (status int, body []byte, replayed bool) {
	status = http.StatusOK
	if r, is := out.(said); is {
		status, out = r.Status, map[string]any{"error": map[string]any{"type": r.Type, "message": r.text}}
	}
	if r, is := out.(refusal); is {
		status, out = r.Status, map[string]any{"error": r}
	}
	body, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return status, body, false
}

func refuse(w http.ResponseWriter, r refusal) {
	status, body, _ := encode(r)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// result is where a handler leaves what it answers.
type result struct{ out any }

func (*result) Header() http.Header         { return http.Header{} }
func (*result) Write(p []byte) (int, error) { return len(p), nil }
func (*result) WriteHeader(int)             {}

func (s *Server) now() time.Time { return time.Now().Add(s.ahead).UTC().Truncate(time.Second) }

// Advance moves the account's clock forward by d and processes everything that has become due.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
	s.roll(s.now())
}

// Asked counts the calls that were carried out, by method and path.
func (s *Server) Asked() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.asked)
}
