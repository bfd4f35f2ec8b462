// Package stripesim simulates an account at Stripe: it speaks Stripe's HTTP API, and no money moves. It knows the calls
// that adapters/stripe makes and what they need: customers, payment methods, subscriptions, invoices, and every charge
// with its idempotency key. The sandbox is adapters/stripe in front of it, in one process. Tests let it fail, and call
// it over a network, too.
//
// It behaves as Stripe documents: idempotency keys (https://docs.stripe.com/api/idempotent_requests), stored failures
// (https://docs.stripe.com/error-low-level), subscriptions whose first charge is declined or requires authentication
// (https://docs.stripe.com/billing/subscriptions/overview), and schedules, which prevent other changes of when their
// subscription ends. It refuses undocumented calls, so that nothing can depend on them. It does not prove what Stripe
// does; adapters/stripe checks the shape of requests and responses against stripe-mock.
package stripesim

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
)

// Account is the name of the one account that each org has in the sandbox.
const Account = "sandbox"

// Key is the secret key of an account whose Config has none. It opens nothing: only the process has the account.
const Key = "sk_test_sandbox"

// Config configures an account.
type Config struct {
	Org     identity.OrgID
	Objects ports.SandboxObjects
	Plans   payment.Plans            // that are sold, each by its PriceRef
	Key     string                   // the secret key that callers send; empty: Key
	Clock   func() time.Time         // nil: time.Now
	MAC     func(text string) string // with a key that only the deployment has; secrets are derived by it

	// Deliver delivers an event to the account's webhook, with its signature; nil: there is none. An event whose
	// delivery fails is delivered again after the next call.
	Deliver func(ctx context.Context, body []byte, signature string) error

	// Thin makes events name their object, which receivers then read, instead of the object's customer.
	Thin bool

	// Unknown is called with each call or parameter that the simulator does not know, and refuses; nil: it is only
	// refused.
	Unknown func(call string)
}

// Simulator is an account at the simulated Stripe. It implements http.Handler and ports.SandboxPayer.
type Simulator struct {
	Config
	plans   atomic.Pointer[payment.Plans]
	trouble atomic.Pointer[Trouble]
	over    outages
	post    post
	turns   atomic.Int64 // changes the order of items
}

var (
	_ http.Handler       = (*Simulator)(nil)
	_ ports.SandboxPayer = (*Simulator)(nil)
)

// New returns an account. It makes no call.
func New(c Config) *Simulator {
	if c.Key == "" {
		c.Key = Key
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Unknown == nil {
		c.Unknown = func(string) {}
	}
	s := &Simulator{Config: c, post: post{busy: map[string]*delivery{}}}
	plans := slices.Clone(c.Plans)
	s.plans.Store(&plans)
	return s
}

// WebhookKey signs the events.
func (s *Simulator) WebhookKey() secret.String {
	return secret.New("whsec_" + s.MAC("sandbox webhook\x00"+string(s.Org)))
}

func (s *Simulator) clientSecret(id string) string {
	return id + "_secret_" + s.MAC("sandbox intent\x00"+string(s.Org)+"\x00"+id)
}

// kept is the response that is stored for a key.
type kept struct {
	Key    string
	Call   string // with its parameters
	At     time.Time
	Status int
	Body   json.RawMessage
}

// keptFor is the minimum time for which keys are stored.
const keptFor = 24 * time.Hour

// reply is how a call ends.
type reply struct {
	status   int
	body     []byte
	replayed bool
	wait     bool // with a Retry-After
	broken   bool // the connection breaks
	silent   bool // nothing is answered
}

// respond carries out a call, or lets it fail.
func (s *Simulator) respond(r *http.Request) (reply, error) {
	if err := readForm(r); err != nil {
		return reply{status: http.StatusBadRequest, body: []byte(err.Error())}, nil
	}
	fault, delay, err := s.nextFault(r)
	if err != nil {
		return reply{}, err
	}
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-r.Context().Done(): // the client has disconnected
		}
	}
	switch fault {
	case RateLimited:
		out := refused(refusal{429, "invalid_request_error", "rate_limit", "", ""})
		out.wait = true
		return out, nil
	case Denied:
		return refused(refusal{401, "invalid_request_error", "", "", ""}), nil
	case Proxied:
		return reply{status: http.StatusServiceUnavailable, body: []byte("<html>nobody is there</html>")}, nil
	case Unavailable:
		return refused(unavailable), nil
	case Dropped:
		return reply{broken: true}, nil
	case Silent:
		return reply{silent: true}, nil
	}
	out, err := s.answer(r, fault)
	switch fault {
	case UnavailableAfter:
		out = refused(unavailable)
	case Lost:
		out.broken = true
	case SilentAfter:
		out.silent = true
	case Garbage:
		out.body = out.body[:len(out.body)/2]
	case WebPage:
		out = reply{status: http.StatusOK, body: []byte("<html>Sign in to the network.</html>")}
	}
	return out, err
}

// readForm reads the parameters of a call, also those in the body of a DELETE, which net/http does not read.
func readForm(r *http.Request) error {
	if err := r.ParseForm(); err != nil { // reads the body, so that the server notices when the client disconnects
		return err
	}
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

// answer carries out a call with the objects of its customer, and delivers the events.
func (s *Simulator) answer(r *http.Request, fault Fault) (out reply, err error) {
	if r.Header.Get("Authorization") != "Bearer "+s.Key {
		return refused(refusal{401, "invalid_request_error", "", "", ""}), nil
	}
	if len(r.Header.Get("Idempotency-Key")) > 255 { // https://docs.stripe.com/api/idempotent_requests
		return refused(refusal{400, "invalid_request_error", "", "", ""}), nil
	}
	customer := s.customerOf(r)
	act := func(a *account) (err error) {
		out, err = a.answer(r, fault)
		return err
	}
	if Pattern(r) == "GET /v1/customers" {
		return out, s.lookAtAll(r.Context(), act)
	}
	if r.Method == http.MethodGet {
		return out, s.look(r.Context(), customer, act)
	}
	return out, s.change(r.Context(), customer, act)
}

// answer carries out a call, or answers again what its key was answered. Keys count for POST alone.
func (s *account) answer(r *http.Request, fault Fault) (reply, error) {
	key, call := r.Header.Get("Idempotency-Key"), r.Method+" "+r.URL.Path+"?"+r.Form.Encode()
	keyed := r.Method == http.MethodPost && key != ""
	if previous := s.answers[key]; keyed && previous != nil && s.remembers(previous) {
		if previous.Call != call {
			return refused(refusal{400, "idempotency_error", "", "", ""}), nil
		}
		return reply{status: previous.Status, body: s.withSecrets(previous.Body), replayed: true}, nil
	}
	count := len(s.charges)
	var out any
	if fault == Failed {
		out = failed
	} else {
		out = s.dispatch(r)
	}
	for _, c := range s.charges[count:] {
		c.Key = key
	}
	if fault == Failed || fault == FailedAfter {
		out = failed
	}
	answer, err := encode(out)
	if refused, isKnown := out.(refusal); err == nil && keyed && !(isKnown && refused.unkept()) {
		s.answers[key] = &kept{Key: key, Call: call, At: s.now(), Status: answer.status,
			Body: secrets.ReplaceAll(answer.body, []byte(`"client_secret":"$1"`))}
	}
	return answer, err
}

// secrets matches the client secrets in a response. A response is stored with the identifier, $1, instead.
var secrets = regexp.MustCompile(`"client_secret":"([0-9a-zA-Z]+_[0-9a-zA-Z]+)[^"]*"`)

// withSecrets returns a stored response with its client secrets.
func (s *account) withSecrets(body []byte) []byte {
	return secrets.ReplaceAllFunc(body, func(text []byte) []byte {
		return []byte(`"client_secret":"` + s.clientSecret(string(secrets.FindSubmatch(text)[1])) + `"`)
	})
}

// remembers reports whether a stored response is still known. Failures end when the operator ends all failures.
func (s *account) remembers(k *kept) bool {
	return s.now().Sub(k.At) <= keptFor && (k.Status < http.StatusInternalServerError || k.At.After(s.settings.Healed))
}

// dispatch routes a call.
func (s *account) dispatch(r *http.Request) (out any) {
	pattern := Pattern(r)
	if pattern == "" {
		s.Unknown(r.Method + " " + r.URL.Path)
		return refusal{404, "invalid_request_error", "", "", ""}
	}
	for name := range r.Form {
		root, _, _ := strings.Cut(name, "[")
		if !strings.Contains(" "+routes[pattern].parameters+" ", " "+root+" ") {
			s.Unknown(pattern + " with " + name)
			return refusal{400, "invalid_request_error", "parameter_unknown", "", root}
		}
	}
	if tooDeep(r) {
		return invalid("expand")
	}
	target := &result{account: s}
	mux.ServeHTTP(target, r)
	return target.out
}

// refusal is an answer that is an error.
type refusal struct {
	Status  int    `json:"-"`
	Type    string `json:"type"`
	Code    string `json:"code,omitempty"`
	Decline string `json:"decline_code,omitempty"`
	Param   string `json:"param,omitempty"`
}

func (r refusal) Error() string { return r.Type + " " + r.Code }

// said is a refusal whose text matters.
type said struct {
	refusal
	text string
}

var (
	failed      = refusal{500, "api_error", "", "", ""}
	unavailable = refusal{503, "api_error", "", "", ""}
)

// unkept reports whether no key remembers it: parameters are checked before a call begins.
func (r refusal) unkept() bool { return r.Code == "parameter_unknown" || r.Code == "parameter_missing" }

func missing(status int, param string) refusal {
	return refusal{status, "invalid_request_error", "resource_missing", "", param}
}

func invalid(param string) refusal { return refusal{400, "invalid_request_error", "", "", param} }

func encode(out any) (answer reply, err error) {
	answer.status = http.StatusOK
	if r, isKnown := out.(said); isKnown {
		answer.status, out = r.Status, map[string]any{"error": map[string]any{"type": r.Type, "message": r.text}}
	}
	if r, isKnown := out.(refusal); isKnown {
		answer.status, out = r.Status, map[string]any{"error": r}
	}
	answer.body, err = json.Marshal(out)
	return answer, err
}

func refused(r refusal) reply {
	out, _ := encode(r) // which is always possible
	return out
}

// result is where a handler leaves what it answers.
type result struct {
	account *account
	out     any
}

func (*result) Header() http.Header         { return http.Header{} }
func (*result) Write(p []byte) (int, error) { return len(p), nil }
func (*result) WriteHeader(int)             {}
