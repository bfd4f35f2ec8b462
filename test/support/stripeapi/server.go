// Package stripeapi runs the simulated Stripe for tests, with objects in memory, and shows what happened there. So
// tests can count it, even if responses were lost.
package stripeapi

import (
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripesim"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// What decides about faults, as in stripesim.
type (
	Call    = stripesim.Call
	Fault   = stripesim.Fault
	Trouble = stripesim.Trouble
)

// The faults.
const (
	None        = stripesim.None
	RateLimited = stripesim.RateLimited
	Denied      = stripesim.Denied
	Unavailable = stripesim.Proxied
	Dropped     = stripesim.Dropped
	Silent      = stripesim.Silent
	Failed      = stripesim.Failed
	FailedAfter = stripesim.FailedAfter
	Lost        = stripesim.Lost
	SilentAfter = stripesim.SilentAfter
	Garbage     = stripesim.Garbage
	WebPage     = stripesim.WebPage
)

const org identity.OrgID = "org"

// Server is an account at the simulated Stripe. It ends with the test.
type Server struct {
	*stripesim.Dashboard
	URL string

	t         testing.TB
	simulator *stripesim.Simulator
	objects   ports.SandboxObjects
	mu        sync.Mutex
	asked     map[string]int // number of calls of each kind
	wrongs    []string
	usage     map[string]map[string]int64 // by customer and meter event
}

// New starts an account that sells plans, each by its PriceRef, to callers that send key.
func New(t testing.TB, key string, plans payment.Plans) *Server {
	t.Helper()
	s := NewInProcess(t, key, plans)
	server := httptest.NewServer(s)
	s.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections() // otherwise calls without a response keep it open
		server.Close()
	})
	return s
}

// NewInProcess is New without a network: only its Transport reaches the account.
func NewInProcess(t testing.TB, key string, plans payment.Plans) *Server {
	t.Helper()
	s := &Server{t: t, URL: "http://stripe.test", objects: fixture.NewSandboxObjects(), asked: map[string]int{},
		usage: map[string]map[string]int64{}}
	ownText := id.New("mac")
	s.simulator = stripesim.New(stripesim.Config{
		Org: org, Objects: s.objects, Plans: plans, Key: key, MAC: func(text string) string {
			sum := fixture.Digester{}.Digest(ownText, []byte(text))
			return hex.EncodeToString(sum[:])
		},
		Unknown: func(call string) { t.Errorf("the simulator does not know %s", call) },
	})
	s.Dashboard = &stripesim.Dashboard{Simulator: s.simulator, Failed: func(err error) { t.Error(err) }}
	return s
}

// Transport returns a transport that calls s directly. It is faster than a connection, and waits for time only, so
// that it can be used in a bubble of testing/synctest.
func (s *Server) Transport() http.RoundTripper { return transport{s, s.simulator.Transport()} }

type transport struct {
	server *Server
	http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	t.server.note(r)
	return resp, err
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	response := &recorder{ResponseWriter: w}
	s.simulator.ServeHTTP(response, r)
	s.check(r.Method+" "+r.URL.Path, response)
	s.note(r)
}

// note counts a call, and notes the violations that Atrium must never cause.
func (s *Server) note(r *http.Request) {
	pattern := stripesim.Pattern(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[pattern]++
	if pattern != "POST /v1/subscriptions" {
		return
	}
	if customer := r.Form.Get("customer"); len(s.Live(customer)) > 1 {
		s.wrongs = append(s.wrongs, "a second subscription of "+customer)
	}
}

// Provoke makes calls fail as trouble says from now on; nil ends that.
func (s *Server) Provoke(trouble Trouble) { s.simulator.SetTrouble(trouble) }

// Asked counts the calls, by method and path.
func (s *Server) Asked() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.asked)
}

// Wrongs returns the violations that Atrium must never cause: two live subscriptions of one customer.
func (s *Server) Wrongs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.wrongs)
}

// read appends the objects of a kind, of a customer or of all if it is empty.
func read[T any](s *Server, customer, kind string) (all []T) {
	customers := []string{customer}
	if customer == "" {
		var err error
		if customers, err = s.objects.Customers(s.t.Context(), org, "cus_", 1000); err != nil {
			s.t.Error(err)
		}
	}
	for _, c := range customers {
		rows, err := s.objects.Read(s.t.Context(), org, c)
		if err != nil {
			s.t.Error(err)
		}
		for _, row := range rows {
			if suffix, isKnown := strings.CutPrefix(row.ID, kind+"_"); !isKnown || strings.Contains(suffix, "_") {
				continue
			}
			var one T
			if err := json.Unmarshal(row.Body, &one); err != nil {
				s.t.Error(err)
			}
			all = append(all, one)
		}
	}
	return all
}

// object has what tests ask of objects.
type object struct {
	ID, Status, Name, Email, Default, Customer string

	Address                            map[string]string
	Deleted, Paused, CancelAtPeriodEnd bool
	Metadata                           map[string]string
	Plan                               payment.Plan
	Meter                              *payment.Plan
	Rates, Taxed                       []string
	Extras                             []extra
	Start, End, TrialEnd, CancelAt     time.Time
	PaidAt                             time.Time
	Quantity                           int64
	Pending                            *struct{ Expires time.Time }
}

// extra is an item that someone has added.
type extra struct {
	Price    payment.Plan
	Metered  bool
	Quantity int64
	Taxed    []string
}

func (o object) live() bool { return payment.Status(o.Status).Live() }

// Customers returns the number of customers that were ever created.
func (s *Server) Customers() int { return len(read[object](s, "", "cus")) }

// Deleted reports whether a customer was deleted.
func (s *Server) Deleted(customer string) bool {
	all := read[object](s, customer, "cus")
	return len(all) == 0 || all[0].Deleted
}

// Described returns what is stored about a customer: its name, its e-mail address, its country and its tax ids.
func (s *Server) Described(customer string) (name, email, country string, taxIDs []string) {
	for _, i := range read[struct{ Kind, Value string }](s, customer, "txi") {
		taxIDs = append(taxIDs, i.Kind+" "+i.Value)
	}
	slices.Sort(taxIDs)
	c := read[object](s, customer, "cus")[0]
	return c.Name, c.Email, c.Address["country"], taxIDs
}

// Methods returns the default method of a customer and how many methods it has.
func (s *Server) Methods(customer string) (def string, n int) {
	for _, m := range read[object](s, customer, "pm") {
		if m.Customer != "" {
			n++
		}
	}
	return read[object](s, customer, "cus")[0].Default, n
}

// Charges returns all charges that were ever made, each customer's in their order.
func (s *Server) Charges() []stripesim.Charge { return read[stripesim.Charge](s, "", "ch") }

// Live returns the ids of a customer's subscriptions that have not ended.
func (s *Server) Live(customer string) (ids []string) {
	for _, u := range read[object](s, customer, "sub") {
		if u.live() {
			ids = append(ids, u.ID)
		}
	}
	return ids
}

// Made counts all subscriptions that were ever created, by a member of their metadata.
func (s *Server) Made(note string) map[string]int {
	counts := map[string]int{}
	for _, u := range read[object](s, "", "sub") {
		name, isNamed := u.Metadata[note]
		if !isNamed {
			name = "unnamed"
		}
		counts[name]++
	}
	return counts
}

// Subscriptions returns what the account knows of a customer's subscriptions, without a call.
func (s *Server) Subscriptions(customer string) (all []payment.GatewaySubscription) {
	for _, u := range read[object](s, customer, "sub") {
		all = append(all, payment.GatewaySubscription{
			ID: payment.SubscriptionID(u.ID), Rate: payment.Rate{Ref: u.Plan.PriceRef}, Quantity: int(u.Quantity),
			Items: u.others(), Status: payment.Status(u.Status), PeriodStart: u.Start, PeriodEnd: u.End,
			TrialEnd: u.TrialEnd, Paused: u.Paused, CancelAtPeriodEnd: u.CancelAtPeriodEnd, CancelAt: u.CancelAt,
			EndsAt: s.endOf(u), Confirming: u.Pending != nil,
		})
	}
	return all
}

// others returns the items besides the plan's.
func (o object) others() (items []payment.Item) {
	if o.Meter != nil {
		items = append(items, payment.Item{Rate: payment.Rate{Ref: o.Meter.Metered.PriceRef}, Metered: true})
	}
	for _, e := range o.Extras {
		items = append(items, payment.Item{Rate: payment.Rate{Ref: e.Price.PriceRef}, Quantity: int(e.Quantity),
			Metered: e.Metered})
	}
	return items
}

// schedule has what tests ask of the schedule of a subscription.
type schedule struct {
	Subscription string
	Ends         bool
	Phases       []struct{ End time.Time }
}

// schedule returns the schedule of a subscription, or nil.
func (s *Server) schedule(id string) *schedule {
	for _, c := range read[schedule](s, stripesim.CustomerOf(id), "sub_sched") {
		if c.Subscription == id {
			return &c
		}
	}
	return nil
}

// Scheduled reports whether a subscription has a schedule.
func (s *Server) Scheduled(id string) bool { return s.schedule(id) != nil }

// endOf returns when a subscription is set to end, in any way; the zero time if it continues.
func (s *Server) endOf(u object) time.Time {
	switch c := s.schedule(u.ID); {
	case !u.CancelAt.IsZero():
		return u.CancelAt
	case u.CancelAtPeriodEnd:
		return u.End
	case c != nil && c.Ends:
		return c.Phases[len(c.Phases)-1].End
	}
	return time.Time{}
}

// Taxes returns the tax rates of a subscription, and those of all its items.
func (s *Server) Taxes(id string) (rates []string) {
	for _, u := range read[object](s, stripesim.CustomerOf(id), "sub") {
		if u.ID != id {
			continue
		}
		rates = append(append(rates, u.Rates...), u.Taxed...)
		for _, e := range u.Extras {
			rates = append(rates, e.Taxed...)
		}
	}
	return rates
}

// OpenCheckouts returns the identifiers of a customer's checkout pages on which a payer can start a subscription.
func (s *Server) OpenCheckouts(customer string) (ids []string) {
	for _, c := range read[object](s, customer, "cs") {
		if c.Status == "open" {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// Confirm adds a test card with a setup intent, as a payer's browser does, and reports whether the card was accepted.
func (s *Server) Confirm(clientSecret, last4 string) bool {
	i := intentOf(clientSecret)
	out, err := s.simulator.Confirm(s.t.Context(), customerOf(i), i, secret.New(clientSecret),
		stripesim.TestCard(last4))
	return err == nil && out.Status == "succeeded"
}

// Authenticate completes, as the payer, the bank's authentication for a client secret.
func (s *Server) Authenticate(clientSecret string) {
	i := intentOf(clientSecret)
	if _, err := s.simulator.Authenticate(s.t.Context(), customerOf(i), i, secret.New(clientSecret), true); err != nil {
		s.t.Logf("the payer cannot authenticate %s: %v", i, err)
	}
}

func intentOf(clientSecret string) payment.IntentID {
	text, _, _ := strings.Cut(clientSecret, "_secret_")
	return payment.IntentID(text)
}

func customerOf(i payment.IntentID) payment.CustomerID {
	return payment.CustomerID(stripesim.CustomerOf(string(i)))
}

// CheckOut completes a checkout page, as the payer, with a test card, or without a payment method if last4 is empty.
// It reports whether the page was open. The card is charged for the subscription, and does not become the customer's
// default.
func (s *Server) CheckOut(url, last4 string) bool {
	count, err := s.simulator.Page(s.t.Context(), stripesim.LinkOf(url))
	if err != nil || count.Done {
		return false
	}
	card := payment.Card{}
	if last4 != "" {
		card = stripesim.TestCard(last4)
	}
	_, err = s.simulator.Complete(s.t.Context(), stripesim.LinkOf(url), card)
	return err == nil
}
