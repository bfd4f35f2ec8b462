package stripesim

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fault is how a call fails.
type Fault string

// The faults, in the order in which they can happen.
const (
	None             Fault = ""
	Fine             Fault = "ok"               // none after all
	RateLimited      Fault = "rate_limited"     // 429 before any check: no effect, and nothing is stored under the key
	Denied           Fault = "denied"           // 401 before any check: no effect, and nothing is stored under the key
	Proxied          Fault = "proxied"          // 503 from a proxy in front of the API, which is no JSON: likewise
	Unavailable      Fault = "error"            // 503: likewise
	Dropped          Fault = "dropped"          // the connection breaks before the call arrives
	Silent           Fault = "timeout"          // no response and no effect
	Failed           Fault = "error_kept"       // 500 without effect, stored under the key
	FailedAfter      Fault = "error_kept_after" // 500 after the effect, stored under the key
	UnavailableAfter Fault = "error_after"      // 503 after the effect
	Lost             Fault = "reset"            // the connection breaks after the effect
	SilentAfter      Fault = "timeout_after"    // no response after the effect
	Garbage          Fault = "garbage"          // a truncated response after the effect
	WebPage          Fault = "web_page"         // an HTML page with the status 200 after the effect
)

// Faults are those that a Script can have and that end when a call is repeated: all of them but Failed and Denied.
func Faults() []Fault {
	return []Fault{Silent, SilentAfter, Unavailable, UnavailableAfter, RateLimited, Lost, Garbage}
}

// ParseFault reads the name of a fault for a Script.
func ParseFault(name string) (Fault, bool) {
	f := Fault(name)
	return f, slices.Contains([]Fault{Fine, Failed, Denied}, f) || slices.Contains(Faults(), f)
}

// hasEffect reports whether the call has taken effect when it fails.
func (f Fault) hasEffect() bool {
	return slices.Contains([]Fault{FailedAfter, UnavailableAfter, Lost, SilentAfter, Garbage}, f)
}

// Call is a call that a Trouble decides about.
type Call struct {
	Method, Path, Key string
}

// Changes reports whether the call changes something.
func (c Call) Changes() bool { return c.Method != http.MethodGet }

// Trouble decides how a call fails and how long it lasts. It may be called concurrently.
type Trouble func(Call) (Fault, time.Duration)

// SetTrouble makes calls fail as trouble says from now on, instead of by the Script; nil ends that.
func (s *Simulator) SetTrouble(trouble Trouble) {
	if trouble == nil {
		s.trouble.Store(nil)
		return
	}
	s.trouble.Store(&trouble)
}

// Script says which failures the sandbox simulates from now on.
type Script struct {
	Troubles  []Fault `json:"troubles"`       // of the next calls of the gateway, one each
	Call      string  `json:"call,omitempty"` // one of Calls if only these calls have troubles
	Duplicate bool    `json:"duplicate"`      // whether events come twice
	Reorder   bool    `json:"reorder"`        // whether they come in the reverse order
}

// begins are the calls that begin with another request than the one that they are about.
var begins = map[string][]string{
	"GET /v1/subscriptions/{id}": {"amend", "cancel"}, "GET /v1/invoices/{id}": {"pay"},
	"GET /v1/customers/{id}/tax_ids": {"update customer"},
}

const setDefault = "set default"

// Calls are the names of the calls that a Script can choose.
func Calls() []string {
	names := []string{setDefault}
	for _, entry := range routes {
		if entry.call != "" && !slices.Contains(names, entry.call) {
			names = append(names, entry.call)
		}
	}
	slices.Sort(names)
	return names
}

// callOf returns the name of the gateway's call that a request is about, or "".
func callOf(r *http.Request) string {
	name := routes[Pattern(r)].call
	for parameter := range r.Form {
		if strings.HasPrefix(parameter, "invoice_settings[") {
			name = setDefault
		}
	}
	return name
}

// concerns reports whether the next trouble is for a request. One that fails after its effect waits for a request that
// has one; when the call is repeated, it begins by looking for the effect, and fails there.
func (s *settings) concerns(r *http.Request) bool {
	if len(s.Troubles) == 0 {
		return false
	}
	name, others, fault := callOf(r), begins[Pattern(r)], s.Troubles[0]
	if s.Call != "" {
		return name == s.Call || (s.Struck && slices.Contains(others, s.Call))
	}
	if s.Struck || (!fault.hasEffect() && fault != Failed) {
		return name != "" || len(others) > 0
	}
	return name != "" && r.Method != http.MethodGet
}

// nextFault returns how a request fails.
func (s *Simulator) nextFault(r *http.Request) (fault Fault, delay time.Duration, err error) {
	if trouble := s.trouble.Load(); trouble != nil {
		fault, delay = (*trouble)(Call{r.Method, r.URL.Path, r.Header.Get("Idempotency-Key")})
		return fault, delay, nil
	}
	if lasting, isKnown := s.over.get(r.Context()); isKnown {
		return lasting, 0, nil
	}
	current, err := s.settingsOf(r.Context(), "")
	if err != nil || !current.concerns(r) {
		return None, 0, err
	}
	err = s.set(r.Context(), settingsRow, func(c *settings) {
		if fault = None; c.concerns(r) {
			fault, c.Troubles = c.Troubles[0], c.Troubles[1:]
			c.Struck = fault.hasEffect()
		}
	})
	if fault != None {
		s.over.add(r.Context(), fault)
	}
	return fault, 0, err
}

// outages are the calls of the gateway that had a trouble, each by its context. A call whose answer did not come is
// over: what it requests after that fails, too, without an effect, so that it cannot find out what has happened.
type outages struct {
	mu    sync.Mutex
	calls map[<-chan struct{}]Fault
}

// lasting is what the other requests of a call are answered after a fault.
var lasting = map[Fault]Fault{
	Silent: Silent, SilentAfter: Silent, Unavailable: Unavailable, UnavailableAfter: Unavailable, Lost: Dropped,
	Garbage: Unavailable,
}

// add makes the other requests of ctx fail with the lasting form of fault. A ctx that cannot end cannot be identified.
func (o *outages) add(ctx context.Context, fault Fault) {
	if ctx.Done() == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calls == nil {
		o.calls = map[<-chan struct{}]Fault{}
	}
	o.calls[ctx.Done()] = lasting[fault]
	context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.calls, ctx.Done())
	})
}

func (o *outages) get(ctx context.Context) (fault Fault, isKnown bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fault, isKnown = o.calls[ctx.Done()]
	return fault, isKnown
}
