package payments

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripe"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

// request is one that clients repeat.
type request struct {
	name  string
	ready bool // the workspace has a subscription before
	do    func(ctx context.Context, s *shop, key string) error
	done  error // of a repetition under another key, once the request has taken effect; nil if it succeeds again
	live  int   // subscriptions in the end
	paid  int   // charges in the end

	prepare func(t *testing.T, s *shop) // what the workspace has before; nil if it has nothing else
	check   func(t *testing.T, s *shop) // what must be in the end; nil if only live and paid count
}

// faultCase is one cell of the table.
type faultCase struct {
	request request
	fault   stripeapi.Fault
	nth     int  // the call that fails
	keyed   bool // the client repeats under the same key
}

// faultCases returns a case for each fault of each call that the requests make when nothing fails.
func faultCases(t *testing.T, w *world) []faultCase {
	t.Helper()
	var all []faultCase
	for _, r := range slices.Concat(requests, moreRequests, pageRequests) {
		s, p := r.begin(t, w)
		p.stage(slow, 0)
		err := r.do(t.Context(), s, "request")
		require.That(t, err == nil, "%s without faults: %v", r.name, err)
		for nth := range p.seen {
			for _, fault := range slices.Sorted(maps.Keys(faultNames)) {
				all = append(all, faultCase{r, fault, nth + 1, true}, faultCase{r, fault, nth + 1, false})
			}
		}
	}
	return all
}

// slow is the fault of a call that takes a while, and nothing else.
const slow stripeapi.Fault = "slow"

var faultNames = map[stripeapi.Fault]string{
	slow: "slow", stripeapi.RateLimited: "429", stripeapi.Denied: "401", stripeapi.Unavailable: "503",
	stripeapi.Dropped: "reset before effect", stripeapi.Failed: "500 kept, no effect",
	stripeapi.FailedAfter: "500 kept after effect", stripeapi.Lost: "dropped after effect",
	stripeapi.Garbage: "half a response", stripeapi.WebPage: "a web page",
	stripeapi.SilentAfter: "no response after effect",
}

// stager lets one of the next calls fail.
type stager struct {
	mu    sync.Mutex
	fault stripeapi.Fault
	nth   int // the call that fails; 0: none
	seen  int // calls since the fault was staged
}

func (s *stager) stage(fault stripeapi.Fault, nth int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.nth, s.seen = fault, nth, 0
}

func (s *stager) trouble(stripeapi.Call) (stripeapi.Fault, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	switch {
	case s.seen != s.nth:
		return stripeapi.None, 0
	case s.fault == slow:
		return stripeapi.None, 300 * time.Millisecond
	}
	return s.fault, 0
}

// table counts what became of requests, by request, fault and kind of repetition.
type table struct {
	mu     sync.Mutex
	counts map[string]map[string]int
}

func (c *table) add(row string, column string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[row] == nil {
		c.counts[row] = map[string]int{}
	}
	c.counts[row][column]++
}

func (c *table) String() string {
	columns := []string{"cases", "at once", "refused", "unknown", "repetitions", "two customers", "live twice",
		"paid twice"}
	out := fmt.Sprintf("%-62s %s\n", "request, fault, repetition", strings.Join(columns, " | "))
	total := map[string]int{}
	line := func(row string, counts map[string]int) {
		out += fmt.Sprintf("%-62s", row)
		for _, column := range columns {
			out += fmt.Sprintf(" %*d |", len(column), counts[column])
			total[column] += counts[column]
		}
		out += "\n"
	}
	for _, row := range slices.Sorted(maps.Keys(c.counts)) {
		line(row, c.counts[row])
	}
	line("all", maps.Clone(total))
	return out
}

// TestEveryFaultOfEveryCall has the simulated Stripe make each call of each request fail in
// each way, and repeats the request as a client does. Nothing is bought or paid twice, and the request takes effect in
// the end.
func TestEveryFaultOfEveryCall(t *testing.T) {
	seed := proof.Seed(t)
	onEach(t, func(t *testing.T, w *world) {
		cases := faultCases(t, w)
		rand.New(rand.NewPCG(seed, 23)).Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
		counts := &table{counts: map[string]map[string]int{}}
		t.Cleanup(func() { t.Logf("\n%s", counts) }) // after the parallel cases
		for _, c := range cases[:proof.Sample(12, len(cases))] {
			t.Run(fmt.Sprintf("%s, call %d, %s, same key %v", c.request.name, c.nth, faultNames[c.fault], c.keyed),
				func(t *testing.T) {
					t.Parallel() // a case mostly waits
					c.run(t, w, counts)
				})
		}
	})
}

// begin returns a shop with what the request needs, whose calls can be made to fail.
func (r request) begin(t *testing.T, w *world) (*shop, *stager) {
	t.Helper()
	api := stripeapi.New(t, stripeKey, modelPlans)
	p := new(stager)
	api.Provoke(p.trouble)
	g := stripe.New(stripe.Config{SecretKey: secret.New(stripeKey), BaseURL: api.URL})
	s := &shop{world: w, api: api, by: fixture.NewTeam(t, w.stores, w.orgs[0]).Owner}
	s.Service = newService(w.stores, func(identity.OrgID) payments.Terms {
		return payments.Terms{Kind: payment.Stripe, Account: stripeAccount, Gateway: g, Plans: modelPlans,
			Returns: payment.ReturnPolicy{Origins: []string{"https://app.example"}}}
	})
	if r.live+r.paid == 0 && r.prepare == nil {
		return s, p
	}
	if _, err := s.SetupIntent(t.Context(), s.now(), "first", payment.OffSession); err != nil {
		t.Fatal(err)
	}
	s.customer = string(s.mirror(t).ID)
	s.addCard("4242")
	if r.ready {
		s.buy(t, "before", "basic")
		s.later(time.Minute)
	}
	if r.prepare != nil {
		if _, err := s.Methods(t.Context(), s.now()); err != nil { // makes the card the default
			t.Fatal(err)
		}
		r.prepare(t, s)
		s.later(time.Minute)
	}
	return s, p
}

func (c faultCase) run(t *testing.T, w *world, counts *table) {
	s, p := c.request.begin(t, w)
	row := c.request.name + ", " + faultNames[c.fault] + ", another key"
	if c.keyed {
		row = strings.Replace(row, "another", "the same", 1)
	}
	counts.add(row, "cases")
	p.stage(c.fault, c.nth)
	ctx, cancel := t.Context(), func() {}
	if c.fault == stripeapi.SilentAfter {
		ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
	}
	err := c.request.do(ctx, s, "request")
	cancel()
	switch {
	case err == nil:
		counts.add(row, "at once")
	case payment.OutcomeUnknown(err):
		counts.add(row, "unknown")
	default:
		counts.add(row, "refused")
	}
	c.neverTwice(t, s, counts, row)

	key := "request"
	for repetition := 1; ; repetition++ {
		if !c.keyed {
			key = fmt.Sprint("request ", repetition)
		}
		err = c.request.do(t.Context(), s, key)
		counts.add(row, "repetitions")
		c.neverTwice(t, s, counts, row)
		if err == nil || (c.request.done != nil && errors.Is(err, c.request.done)) {
			break
		}
		require.That(t, repetition != 8, "it does not take effect: %v", err)
		s.later(3 * time.Minute) // the job looks the outcome up
		if repetition == 4 {     // the gateway has kept a failure, and forgets it within a day
			s.later(25 * time.Hour)
			s.api.Advance(25 * time.Hour)
		}
		_ = s.reconcile(t)
	}
	assert.Equal(t, "customers", s.api.Customers(), 1)
	if c.request.check != nil {
		c.request.check(t, s)
	}
	if s.customer == "" {
		return
	}
	if live, paid := len(s.api.Live(s.customer)), len(s.api.Charges()); live != c.request.live ||
		paid != c.request.paid {
		t.Errorf("in the end %d live and %d paid, want %d and %d", live, paid, c.request.live, c.request.paid)
	}
	faults := s.api.Wrongs()
	assert.That(t, len(faults) == 0, "%v", faults)
}

// neverTwice fails t if there are two customers, or if more is live or paid than the request buys.
func (c faultCase) neverTwice(t *testing.T, s *shop, counts *table, row string) {
	t.Helper()
	if n := s.api.Customers(); n > 1 {
		counts.add(row, "two customers")
		t.Errorf("%d customers", n)
	}
	if s.customer != "" && len(s.api.Live(s.customer)) > 1 {
		counts.add(row, "live twice")
		t.Error("two subscriptions are live")
	}
	if len(s.api.Charges()) > c.request.paid {
		counts.add(row, "paid twice")
		t.Errorf("paid %s", s.paid())
	}
}
