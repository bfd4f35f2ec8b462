package payments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripe"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

const stripeKey = "sk_test_of_the_walks"

// atStripe returns an account at the fake Stripe, and a gateway for it.
func atStripe(t *testing.T) (*stripeapi.Server, *stripe.Gateway) {
	t.Helper()
	api := stripeapi.New(t, stripeKey, plans)
	return api, stripe.New(stripe.Config{SecretKey: secret.New(stripeKey), BaseURL: api.URL})
}

// selling returns the payments service of an org that sells through a gateway at Stripe.
func (w *world) selling(g ports.Gateway) *payments.Service {
	return newService(w.stores, func(identity.OrgID) payments.Terms {
		return payments.Terms{Kind: payment.Stripe, Account: stripeAccount, Gateway: g, Plans: plans}
	})
}

const stripeAccount = "stripe test"

// hazard is a source of random faults at a given rate. Calls hang only if the caller has a short timeout.
type hazard struct {
	mu        sync.Mutex
	random    *rand.Rand
	oneIn     int
	impatient bool
	storm     bool // a change of a subscription or an invoice has effect, and from then on no call gets a response
	begun     bool // the storm has begun
	calm      bool
	wild      bool // every second call fails
	slowest   time.Duration
}

func (h *hazard) trouble(c stripeapi.Call) (stripeapi.Fault, time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calm {
		return stripeapi.None, 0
	}
	delay := time.Duration(h.random.Int64N(int64(h.slowest) + 1))
	begins := strings.HasPrefix(c.Path, "/v1/subscriptions") || strings.HasPrefix(c.Path, "/v1/invoices")
	if h.begun = h.begun || (h.storm && c.Changes() && begins); h.begun {
		return []stripeapi.Fault{stripeapi.Lost, stripeapi.FailedAfter, stripeapi.Garbage}[h.random.IntN(3)], delay
	}
	oneIn := h.oneIn
	if h.wild {
		oneIn = 2
	}
	if h.random.IntN(oneIn) > 0 {
		return stripeapi.None, delay
	}
	faults := []stripeapi.Fault{
		stripeapi.RateLimited, stripeapi.Denied, stripeapi.Unavailable, stripeapi.Dropped, stripeapi.Failed,
		stripeapi.FailedAfter, stripeapi.FailedAfter, stripeapi.Lost, stripeapi.Garbage,
	}
	if h.impatient {
		faults = []stripeapi.Fault{stripeapi.Silent, stripeapi.SilentAfter}
	}
	return faults[h.random.IntN(len(faults))], delay
}

// set takes over of now whether anybody is impatient, and the weather.
func (h *hazard) set(current *hazard) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.impatient, h.storm, h.begun, h.calm, h.wild = current.impatient, current.storm, false, current.calm, current.wild
}

func TestWalksEndInAgreementAtStripe(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for seed := range proof.Sample(2, 10) {
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				t.Parallel() // a walk mostly waits
				walkAtStripe(t, w, seed)
			})
		}
	})
}

func walkAtStripe(t *testing.T, w *world, seed int) {
	api, g := atStripe(t)
	random := rand.New(rand.NewPCG(uint64(seed), 13))
	h := &hazard{random: rand.New(rand.NewPCG(uint64(seed), 17)), oneIn: 10, calm: true}
	api.Provoke(h.trouble)
	by := fixture.NewTeam(t, w.stores, w.orgs[seed%2]).Owner
	calm := w.selling(g)
	_, err := calm.SetupIntent(t.Context(), at(by), "card", payment.OffSession)
	require.NoError(t, err)
	c, err := w.stores.Payments.Customer(t.Context(), by.Workspace, stripeAccount)
	require.NoError(t, err)
	api.AddCard(string(c.ID), "4242")
	(&caller{world: w, by: by, random: random, seed: seed, till: till{
		account: stripeAccount, troubled: w.selling(mortal{g, func() bool { return random.IntN(10) == 0 }}), calm: calm,
		count: func(_ *testing.T, c payment.CustomerID) (live int, counts map[string]int) {
			h.set(&hazard{calm: true}) // nobody else is there until the next step
			return len(api.Live(string(c))), api.Made("atrium_key")
		},
		charged: func() (keys []string) {
			for _, charge := range api.Charges() {
				key, _, _ := strings.Cut(charge.Key, "_sub_sched_") // what is sent beside a schedule has its id
				keys = append(keys, key)
			}
			return keys
		},
		another: api.Advance,
		within: func(ctx context.Context) (context.Context, context.CancelFunc) {
			impatient := random.IntN(8) == 0
			h.set(&hazard{impatient: impatient, storm: random.IntN(3) == 0})
			if impatient {
				return context.WithTimeout(ctx, time.Duration(random.IntN(100))*time.Millisecond)
			}
			return ctx, func() {}
		},
	}}).walk(t, proof.Sample(100, 1000))
	faults := api.Wrongs()
	assert.That(t, len(faults) == 0, "seed %d: %v", seed, faults)
}

func TestManySetupIntentsMakeOneCustomerAtStripe(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for seed := range proof.Sample(10, 200) {
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				t.Parallel()
				manyAtStripe(t, w, seed)
			})
		}
	})
}

// manyAtStripe has 64 callers request a setup intent concurrently from a slow gateway with every kind of fault.
func manyAtStripe(t *testing.T, w *world, seed int) {
	api, g := atStripe(t)
	h := &hazard{random: rand.New(rand.NewPCG(uint64(seed), 19)), oneIn: 3, slowest: 20 * time.Millisecond,
		impatient: seed%3 == 0}
	api.Provoke(h.trouble)
	s, by := w.selling(g), fixture.NewTeam(t, w.stores, w.orgs[seed%2]).Owner
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, err := s.SetupIntent(ctx, at(by), fmt.Sprint(seed, " ", i), payment.OffSession)
			assert.That(t, err == nil || errors.Is(err, payment.ErrGateway) ||
				errors.Is(err, payment.ErrGatewayDenied) || payment.OutcomeUnknown(err) ||
				payment.NoEffect(err), "%v", err)
		})
	}
	all.Wait()
	h.set(&hazard{calm: true})
	n := api.Customers()
	assert.That(t, n <= 1, "%d customers at the gateway", n)
	reconcile := func() error {
		return s.Reconcile(t.Context(), identity.System(by.Org, by.Workspace, "reconcile", at(by).At))
	}
	err := reconcile()
	// the gateway has kept a failure that had no effect: it forgets it in a day
	if n == 0 && payment.OutcomeUnknown(err) {
		api.Advance(25 * time.Hour)
		err = reconcile()
	}
	assert.NoError(t, err)
	_, err = s.SetupIntent(t.Context(), at(by), fmt.Sprint(seed, " at last"), payment.OffSession)
	assert.NoError(t, err)
	c, err := w.stores.Payments.Customer(t.Context(), by.Workspace, stripeAccount)
	if err != nil || c.ID == "" || !c.Settled() || api.Customers() != 1 {
		t.Errorf("%d customers at the gateway in the end; %+v, %v", api.Customers(), c, err)
	}
}
