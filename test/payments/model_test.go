package payments

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripe"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/fixture"
	"github.com/atrium-hq/atrium/test/proof"
)

// modelGrace is how long an unpaid subscription of the model entitles.
const modelGrace = 24 * time.Hour

// period identifies what one payment is for.
type period struct {
	subscription string
	start        time.Time
}

// money is a small model of what may be paid and used. It knows nothing of how Atrium works: it sees the gateway's
// charges and subscriptions, and what Atrium tells its callers.
type money struct {
	worth map[period]int64                     // the highest price that the subscription had in the period
	since map[billing.SubscriptionID]time.Time // when a subscription became unpaid
}

// see takes in the live subscriptions of the gateway.
func (m *money) see(held []billing.GatewaySubscription) {
	for _, h := range held {
		if !h.Status.Live() {
			continue
		}
		if p := plans.ByPrice(h.PriceRef); p != nil {
			at := period{string(h.ID), h.PeriodStart}
			m.worth[at] = max(m.worth[at], p.Price.Amount*int64(h.Quantity))
		}
		switch owed := h.Status == billing.PastDue || h.Status == billing.Unpaid; {
		case !owed:
			delete(m.since, h.ID)
		case m.since[h.ID].IsZero():
			m.since[h.ID] = h.PeriodStart
		}
	}
}

// entitled reports whether a subscription may entitle at a time.
func (m *money) entitled(h billing.GatewaySubscription, now time.Time) bool {
	switch h.Status {
	case billing.Active, billing.Trialing:
		return true
	case billing.PastDue:
		return now.Before(m.since[h.ID].Add(modelGrace))
	}
	return false
}

// modelWalk is a workspace that does random things at a gateway that fails at random.
type modelWalk struct {
	*shop
	gateway  *stripe.Gateway
	troubled *payments.Service
	hazard   *hazard
	random   *rand.Rand
	model    money
}

func newModelWalk(t *testing.T, w *world, seed uint64) *modelWalk {
	t.Helper()
	api, g := atStripe(t)
	random := rand.New(rand.NewPCG(seed, 29))
	m := &modelWalk{gateway: g, random: random, model: money{map[period]int64{}, map[billing.SubscriptionID]time.Time{}}}
	m.hazard = &hazard{random: rand.New(rand.NewPCG(seed, 31)), oneIn: 12, calm: true}
	selling := func(g ports.Gateway) *payments.Service {
		return payments.NewService(w.stores, nil, func(identity.OrgID) payments.Terms {
			return payments.Terms{Kind: billing.Stripe, Account: stripeAccount, Gateway: g, Plans: plans, Grace: modelGrace}
		}, noQuotas)
	}
	m.shop = &shop{Service: selling(g), world: w, api: api, by: fixture.NewTeam(t, w.stores, w.orgs[seed%2]).Owner}
	m.troubled = selling(mortal{g, func() bool { return random.IntN(15) == 0 }})
	if _, err := m.SetupIntent(t.Context(), m.now(), "first", billing.OffSession); err != nil {
		t.Fatal(err)
	}
	m.customer = string(m.mirror(t).ID)
	m.addCard("4242")
	api.Provoke(m.hazard.trouble)
	return m
}

// step does one random thing, with faults, as a process that may be killed.
func (m *modelWalk) step(t *testing.T, key string) (string, error) {
	ctx := t.Context()
	plan, quantity := plans[m.random.IntN(2)].ID, 1+m.random.IntN(3)
	m.hazard.set(&hazard{storm: m.random.IntN(6) == 0})
	defer m.hazard.set(&hazard{calm: true})
	switch m.random.IntN(12) {
	case 0, 1:
		_, err := m.troubled.Subscribe(ctx, m.now(), key, billing.SubscribeRequest{Plan: plan, Quantity: quantity})
		return "subscribe", err
	case 2, 3:
		_, err := m.troubled.ChangeSubscription(ctx, m.now(), key, nil, billing.Changes{Plan: &plan, Quantity: &quantity})
		return "change", err
	case 4:
		ends := m.random.IntN(2) == 0
		_, err := m.troubled.ChangeSubscription(ctx, m.now(), key, nil, billing.Changes{CancelAtPeriodEnd: &ends})
		return "cancel at the end, or resume", err
	case 5:
		if m.random.IntN(3) > 0 {
			return "nothing", nil
		}
		return "cancel", m.troubled.CancelSubscription(ctx, m.now(), key, nil)
	case 6:
		open := m.api.OpenInvoices(m.customer)
		if len(open) == 0 {
			return "nothing", nil
		}
		_, err := m.troubled.PayInvoice(ctx, m.now(), key, billing.InvoiceID(open[m.random.IntN(len(open))]))
		return "pay", err
	case 7: // another card: one that works, fails, or wants authentication
		card := m.api.AddCard(m.customer, []string{"4242", "0341", "3155"}[m.random.IntN(3)])
		m.hazard.set(&hazard{calm: true})
		_, _, err := m.SetDefault(ctx, m.now(), billing.MethodID(card))
		return "another card", err
	case 8:
		v, err := m.Subscription(ctx, m.now())
		if err == nil && v.Action != nil {
			m.api.Authenticate(v.Action.ClientSecret.Reveal())
		}
		return "authenticate", err
	case 9:
		for _, id := range m.api.Live(m.customer) { // as someone does at the dashboard
			if m.random.IntN(4) == 0 {
				m.hazard.set(&hazard{calm: true})
				return "end at the gateway", m.gateway.Cancel(ctx, key, billing.CustomerID(m.customer), billing.SubscriptionID(id))
			}
		}
		return "nothing", nil
	default:
		d := time.Duration(1+m.random.IntN(12*24)) * time.Hour
		m.later(d)
		m.api.Advance(d)
		return "time passes", nil
	}
}

// check compares what the gateway did, and what Atrium says a minute later, with the model.
func (m *modelWalk) check(t *testing.T, when string) {
	t.Helper()
	m.later(time.Minute + time.Second)
	m.api.Advance(time.Minute + time.Second)
	if err := m.reconcile(t); err != nil && !billing.OutcomeUnknown(err) {
		t.Fatalf("%s: %v", when, err)
	}
	held, err := m.gateway.Subscriptions(t.Context(), billing.CustomerID(m.customer))
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	m.model.see(held)
	paid := map[period]int64{}
	for _, c := range m.api.Charges() {
		at := period{c.Subscription, c.Period}
		if paid[at] += c.Amount; m.model.worth[at] > 0 && paid[at] > m.model.worth[at] {
			t.Fatalf("%s: paid %d for the period from %s, worth %d", when, paid[at], c.Period, m.model.worth[at])
		}
	}
	live := m.api.Live(m.customer)
	if len(live) > 1 {
		t.Fatalf("%s: %d live", when, len(live))
	}
	v, err := m.Subscription(t.Context(), m.now())
	if errors.Is(err, billing.ErrNoSubscription) {
		if len(live) > 0 && m.mirror(t).Pending == nil {
			t.Fatalf("%s: a live subscription is unknown for over a minute", when)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	for _, h := range held {
		if h.ID == v.ID && v.Entitled && !m.model.entitled(h, m.now().At) {
			t.Fatalf("%s: entitled by a subscription that is %s since %s", when, h.Status, m.model.since[h.ID])
		}
	}
	if m.mirror(t).Pending == nil && (len(live) != 1 || live[0] != string(v.ID)) {
		t.Fatalf("%s: Atrium knows %s, the gateway has %v", when, v.ID, live)
	}
}

// TestMoneyMatchesAModel checks random walks against a small model of money: nothing is paid twice for one period, no
// one is entitled beyond the grace period without paying, and no live subscription is unknown for over a minute.
func TestMoneyMatchesAModel(t *testing.T) {
	first := proof.Seed(t)
	onEach(t, func(t *testing.T, w *world) {
		for i := range proof.Sample(uint64(2), 200) {
			t.Run(fmt.Sprint("walk ", i), func(t *testing.T) {
				t.Parallel() // a walk mostly waits
				m := newModelWalk(t, w, first+i)
				done := map[string]int{}
				for step := range proof.Sample(60, 5000) {
					var what string
					err := survive(func() (err error) { what, err = m.step(t, fmt.Sprintf("%d %d", first+i, step)); return err })
					done[what]++
					m.check(t, fmt.Sprintf("walk %d, step %d, %s (%v)", i, step, what, err))
				}
				t.Logf("%d charges; %v", len(m.api.Charges()), done)
			})
		}
	})
}
