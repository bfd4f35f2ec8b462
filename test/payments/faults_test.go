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

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/test/fixture"
	"github.com/atrium-hq/atrium/test/proof"
	"github.com/atrium-hq/atrium/test/stripeapi"
)

// faultNames are the faults that the table stages.
var faultNames = map[stripeapi.Fault]string{
	stripeapi.None: "slow", stripeapi.RateLimited: "429", stripeapi.Denied: "401", stripeapi.Unavailable: "503",
	stripeapi.Dropped: "reset before", stripeapi.Failed: "500 kept, no effect",
	stripeapi.FailedAfter: "500 kept after effect",
	stripeapi.Lost:        "dropped after effect", stripeapi.Garbage: "garbage",
	stripeapi.SilentAfter: "no answer after effect",
}

// request is one that clients repeat.
type request struct {
	name  string
	calls int  // the calls to the gateway that it makes at most
	ready bool // the workspace has a subscription before
	do    func(ctx context.Context, s *shop, key string) error
	done  error // of a repetition under another key, once the request has taken effect; nil if it succeeds again
	live  int   // subscriptions in the end
	paid  int   // charges in the end

	prepare func(t *testing.T, s *shop) // what the workspace has before; nil if it has nothing else
	check   func(t *testing.T, s *shop) // what must be in the end; nil if only live and paid count
}

var requests = []request{
	{name: "subscribe", calls: 7, live: 1, paid: 1, done: billing.ErrSubscriptionExists,
		do: func(ctx context.Context, s *shop, key string) error {
			_, err := s.Subscribe(ctx, s.now(), key, billing.SubscribeRequest{Plan: "basic", Quantity: 1})
			return err
		}},
	{name: "upgrade", calls: 4, ready: true, live: 1, paid: 2,
		do: func(ctx context.Context, s *shop, key string) error {
			plan := billing.PlanID("pro")
			_, err := s.ChangeSubscription(ctx, s.now(), key, nil, billing.Changes{Plan: &plan})
			return err
		}},
	{name: "cancel", calls: 2, ready: true, live: 0, paid: 1, done: billing.ErrNoSubscription,
		do: func(ctx context.Context, s *shop, key string) error {
			return s.CancelSubscription(ctx, s.now(), key, nil, billing.Cancellation{})
		}},
	{name: "setup intent", calls: 2, live: 0, paid: 0, do: func(ctx context.Context, s *shop, key string) error {
		_, err := s.SetupIntent(ctx, s.now(), key, billing.OffSession)
		return err
	}},
}

// faultCase is one cell of the table.
type faultCase struct {
	request request
	fault   stripeapi.Fault
	nth     int  // the call that fails
	keyed   bool // the client repeats under the same key
}

func faultCases() []faultCase {
	var all []faultCase
	for _, r := range slices.Concat(requests, moreRequests) {
		for _, fault := range slices.Sorted(maps.Keys(faultNames)) {
			for nth := range r.calls {
				all = append(all, faultCase{r, fault, nth + 1, true}, faultCase{r, fault, nth + 1, false})
			}
		}
	}
	return all
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
	columns := []string{"cases", "at once", "refused", "unknown", "repetitions", "live twice", "paid twice"}
	out := fmt.Sprintf("%-52s %s\n", "request, fault, repetition", strings.Join(columns, " | "))
	for _, row := range slices.Sorted(maps.Keys(c.counts)) {
		out += fmt.Sprintf("%-52s", row)
		for _, column := range columns {
			out += fmt.Sprintf(" %*d |", len(column), c.counts[row][column])
		}
		out += "\n"
	}
	return out
}

// TestEveryFaultOfEveryCall makes each call of each request fail in each way, and repeats the request as a client
// does. Nothing is bought or paid twice, and the request takes effect in the end.
func TestEveryFaultOfEveryCall(t *testing.T) {
	seed := proof.Seed(t)
	onEach(t, func(t *testing.T, w *world) {
		cases := faultCases()
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

func (c faultCase) run(t *testing.T, w *world, counts *table) {
	api, g := atStripe(t)
	s := &shop{Service: w.selling(g), world: w, api: api, by: fixture.NewTeam(t, w.stores, w.orgs[0]).Owner}
	if c.request.live+c.request.paid > 0 || c.request.prepare != nil {
		if _, err := s.SetupIntent(t.Context(), s.now(), "first", billing.OffSession); err != nil {
			t.Fatal(err)
		}
		s.customer = string(s.mirror(t).ID)
		s.addCard("4242")
	}
	if c.request.ready {
		if _, err := s.subscribe(t, "before", "basic"); err != nil {
			t.Fatal(err)
		}
		s.later(time.Minute)
	}
	if c.request.prepare != nil {
		if _, err := s.Methods(t.Context(), s.now()); err != nil { // makes the card the default
			t.Fatal(err)
		}
		c.request.prepare(t, s)
		s.later(time.Minute)
	}
	row := c.request.name + ", " + faultNames[c.fault] + ", another key"
	if c.keyed {
		row = strings.Replace(row, "another", "the same", 1)
	}
	counts.add(row, "cases")

	var mu sync.Mutex
	seen := 0
	api.Provoke(func(stripeapi.Call) (stripeapi.Fault, time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen != c.nth {
			return stripeapi.None, 0
		}
		if c.fault == stripeapi.None {
			return stripeapi.None, 300 * time.Millisecond
		}
		return c.fault, 0
	})
	ctx, cancel := t.Context(), func() {}
	if c.fault == stripeapi.SilentAfter {
		ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
	}
	err := c.request.do(ctx, s, "request")
	cancel()
	switch {
	case err == nil:
		counts.add(row, "at once")
	case billing.OutcomeUnknown(err):
		counts.add(row, "unknown")
	default:
		counts.add(row, "refused")
	}
	if c.request.paid > 0 {
		c.neverTwice(t, s, counts, row)
	}

	key := "request"
	for repetition := 1; ; repetition++ {
		if !c.keyed {
			key = fmt.Sprint("request ", repetition)
		}
		err = c.request.do(t.Context(), s, key)
		counts.add(row, "repetitions")
		c.neverTwice(t, s, counts, row)
		if err == nil || c.request.done != nil && errors.Is(err, c.request.done) {
			break
		}
		if repetition == 8 {
			t.Fatalf("it does not take effect: %v", err)
		}
		s.later(3 * time.Minute) // the job looks the outcome up
		if repetition == 4 {     // the gateway has kept a failure, and forgets it within a day
			s.later(25 * time.Hour)
			api.Advance(25 * time.Hour)
		}
		_ = s.reconcile(t)
	}
	if n := api.Customers(); n != 1 {
		t.Errorf("%d customers", n)
	}
	if c.request.check != nil {
		c.request.check(t, s)
	}
	if c.request.live+c.request.paid == 0 {
		return
	}
	if live, paid := len(api.Live(s.customer)), len(api.Charges()); live != c.request.live || paid != c.request.paid {
		t.Errorf("in the end %d live and %d paid, want %d and %d", live, paid, c.request.live, c.request.paid)
	}
	if wrong := api.Wrongs(); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// neverTwice fails t if more is live or paid than the request buys.
func (c faultCase) neverTwice(t *testing.T, s *shop, counts *table, row string) {
	t.Helper()
	if s.customer != "" && len(s.api.Live(s.customer)) > 1 {
		counts.add(row, "live twice")
		t.Error("two subscriptions are live")
	}
	if len(s.api.Charges()) > c.request.paid {
		counts.add(row, "paid twice")
		t.Errorf("paid %s", s.paid())
	}
}
