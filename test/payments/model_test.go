package payments

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripe"
	"github.com/atrium-hq/atrium/adapters/stripesim"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/migrated"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

// modelWalk is a workspace that does random things at a gateway that fails at random.
type modelWalk struct {
	*shop
	gateway  *stripe.Gateway
	troubled *payments.Service
	hazard   *hazard
	random   *rand.Rand
	model    money
	ledger   ledger
	refunds  map[string]int64 // by invoice

	additions map[payment.SubscriptionID]*addition
	drafts    []string // invoices that someone has not finished
}

// newModelWalk returns a walk on its own account at the fake Stripe. It uses no network, so that the walk can be in a
// bubble of testing/synctest, where waiting takes no time.
func newModelWalk(t *testing.T, w *world, seed uint64) *modelWalk {
	t.Helper()
	api := stripeapi.NewInProcess(t, stripeKey, slices.Concat(modelPlans, modelPacks))
	for ref, amount := range pricesElsewhere {
		api.Sell(ref, amount)
	}
	g := stripe.New(stripe.Config{SecretKey: secret.New(stripeKey), BaseURL: api.URL, Transport: api.Transport()})
	random := rand.New(rand.NewPCG(seed, 29))
	m := &modelWalk{gateway: g, random: random, model: newMoney(), ledger: newLedger(), refunds: map[string]int64{},
		additions: map[payment.SubscriptionID]*addition{}}
	m.hazard = &hazard{random: rand.New(rand.NewPCG(seed, 31)), oneIn: 12, calm: true}
	selling := func(g ports.Gateway) *payments.Service {
		return newService(w.stores, func(identity.OrgID) payments.Terms {
			return payments.Terms{Kind: payment.Stripe, Account: stripeAccount, Gateway: g, Plans: modelPlans,
				CreditPacks: modelPacks, Grace: modelGrace, Losses: payment.LossRules{OnRefund: payment.EndPlan}}
		})
	}
	m.shop = &shop{Service: selling(g), world: w, api: api, by: fixture.NewTeam(t, w.stores, w.orgs[seed%2]).Owner}
	m.troubled = selling(mortal{g, func() bool { return random.IntN(15) == 0 }})
	m.begin(t, "first")
	api.Provoke(m.hazard.trouble)
	return m
}

// begin makes the workspace a customer with a card, as it is at first and after it was deleted at the gateway.
func (m *modelWalk) begin(t *testing.T, key string) {
	t.Helper()
	_, err := m.SetupIntent(t.Context(), m.now(), key, payment.OffSession)
	require.NoError(t, err)
	m.customer = string(m.mirror(t).ID)
	m.addCard("4242")
	m.api.Advance(time.Minute) // as addCard lets pass: the gateway refuses usage from the future
}

// step does one random thing, with faults, as a process that may be killed.
func (m *modelWalk) step(t *testing.T, key string) (name string, err error) {
	for name = "nothing"; name == "nothing" && err == nil; {
		name, err = m.roll(t, key)
	}
	return name, err
}

// roll is step, or finds that there is nothing to do.
func (m *modelWalk) roll(t *testing.T, key string) (string, error) {
	ctx := t.Context()
	plan, quantity := modelPlans[m.random.IntN(len(modelPlans))].ID, 1+m.random.IntN(3)
	m.hazard.set(&hazard{storm: m.random.IntN(6) == 0})
	defer m.hazard.set(&hazard{calm: true})
	switch m.random.IntN(23) {
	case 0, 1:
		_, err := m.troubled.Subscribe(ctx, m.now(), key, payment.SubscribeRequest{Plan: plan, Quantity: quantity})
		return "subscribe", err
	case 2, 3:
		return m.change(t, key)
	case 4:
		ends := m.random.IntN(2) == 0
		m.mayEnd()
		_, err := m.troubled.ChangeSubscription(ctx, m.now(), key, nil, payment.Changes{CancelAtPeriodEnd: &ends})
		return "cancel at the end, or resume", err
	case 5:
		if m.random.IntN(3) > 0 {
			return "nothing", nil
		}
		return "cancel", m.troubled.CancelSubscription(ctx, m.now(), key, nil, payment.Cancellation{})
	case 6:
		open := m.api.OpenInvoices(m.customer)
		if len(open) == 0 {
			return "nothing", nil
		}
		_, err := m.troubled.PayInvoice(ctx, m.now(), key, payment.InvoiceID(open[m.random.IntN(len(open))]))
		return "pay", err
	case 7: // another card: one that works, fails, or wants authentication
		if m.api.Deleted(m.customer) {
			return "nothing", nil
		}
		card := m.api.AddCard(m.customer, []string{"4242", "0341", "3155"}[m.random.IntN(3)])
		m.hazard.set(&hazard{calm: true})
		_, _, err := m.SetDefault(ctx, m.now(), payment.MethodID(card))
		return "another card", err
	case 8:
		v, err := m.Subscription(ctx, m.now())
		if err == nil && v.Action != nil {
			m.api.Authenticate(v.Action.ClientSecret.Reveal())
		}
		return "authenticate", err
	case 9:
		if m.random.IntN(8) == 0 && !m.api.Deleted(m.customer) {
			m.api.Delete(m.customer)
			clear(m.ledger.answers) // its invoices cannot be read any more, and what they have bought stays
			return "delete the customer", nil
		}
		for _, id := range m.api.Live(m.customer) { // as someone does at the dashboard
			if m.random.IntN(4) == 0 {
				m.hazard.set(&hazard{calm: true})
				return "end at the gateway", m.gateway.Cancel(ctx, key, payment.CustomerID(m.customer),
					payment.SubscriptionID(id), payment.Cancellation{})
			}
		}
		return "nothing", nil
	case 10:
		pause := m.random.IntN(2) == 0
		_, err := m.troubled.ChangeSubscription(ctx, m.now(), key, nil, payment.Changes{Pause: &pause})
		return "pause, or resume", err
	case 11:
		return "use", m.use(t, key)
	case 12:
		return m.losePayment(), nil
	case 13, 14, 15, 16:
		return m.doElsewhere(t, key)
	case 17:
		return m.buyPacks(t, key)
	case 18:
		return m.useCredit(t)
	case 19:
		if m.random.IntN(3) > 0 {
			return "nothing", nil
		}
		return m.loseCredit(), nil
	default:
		d := time.Duration(1+m.random.IntN(12*24)) * time.Hour
		m.later(d)
		m.api.Advance(d)
		return "time passes", nil
	}
}

// change asks for another plan, another quantity, or both.
func (m *modelWalk) change(t *testing.T, key string) (string, error) {
	t.Helper()
	plan, quantity := modelPlans[m.random.IntN(len(modelPlans))].ID, 1+m.random.IntN(3)
	ch := payment.Changes{Quantity: &quantity}
	if m.random.IntN(3) > 0 {
		ch.Plan = &plan
		m.mayResell()
	}
	_, err := m.troubled.ChangeSubscription(t.Context(), m.now(), key, nil, ch)
	return "change", err
}

// losePayment refunds a part of one of the last payments, or disputes it, as people do at the gateway and at a bank.
func (m *modelWalk) losePayment() (what string) {
	var charges []stripesim.Charge
	for _, c := range m.api.Charges() {
		if c.Customer == m.customer && !m.api.Deleted(m.customer) {
			charges = append(charges, c)
		}
	}
	if len(charges) == 0 {
		return "nothing"
	}
	c := charges[len(charges)-1-m.random.IntN(min(len(charges), 3))]
	if m.random.IntN(3) == 0 {
		m.api.CloseDispute(m.api.Dispute(c.Invoice, m.random.IntN(2) == 0), m.random.IntN(2) == 0)
		return "dispute"
	}
	amount := 1 + m.random.Int64N(c.Amount)
	if m.refunds[c.Invoice]+amount > c.Amount {
		return "nothing"
	}
	m.refunds[c.Invoice] += amount
	m.api.Refund(c.Invoice, amount)
	return "refund"
}

// use reports usage several times, perhaps twice under one key, and sends it to a gateway that often fails.
func (m *modelWalk) use(t *testing.T, key string) (err error) {
	t.Helper()
	for n := range 1 + m.random.IntN(3) {
		m.hazard.set(&hazard{wild: true})
		m.report(t, fmt.Sprint(key, " ", n))
		if err = survive(func() error { return m.troubled.SendUsage(t.Context(), m.system()) }); err != nil {
			m.later(time.Second)
			m.api.Advance(time.Second)
		}
	}
	return err
}

func (m *modelWalk) report(t *testing.T, key string) {
	t.Helper()
	units := 1 + m.random.Int64N(500)
	m.model.use(m.customer, m.api.Subscriptions(m.customer), units, m.mirror(t).Pending == nil)
	r, err := m.ReportUsage(t.Context(), m.now(), payment.UsageRequest{Feature: "emails", Quantity: units,
		Key: key})
	require.That(t, err == nil && !r.Repeated, "a report: %+v, %v", r, err)
	if m.random.IntN(2) == 0 {
		second, err := m.ReportUsage(t.Context(), m.now(), payment.UsageRequest{Feature: "emails", Quantity: units,
			Key: key})
		require.That(t, err == nil && second.Repeated && second.Used == r.Used,
			"a repeated report: %+v after %+v, %v", second, r, err)
	}
}

func (m *modelWalk) system() identity.Actor {
	return identity.System(m.by.Org, m.by.Workspace, "test", m.now().At)
}

// checkUsage sends what is left of the usage, and fails t if the gateway has got more than was reported or less than
// is billed.
func (m *modelWalk) checkUsage(t *testing.T, occasion string) {
	t.Helper()
	err := m.SendUsage(t.Context(), m.system())
	if m.api.Deleted(m.customer) {
		return
	}
	sum, _ := m.api.Usage(m.customer)
	want := m.model.billed[m.customer]
	require.That(t, err == nil && sum >= want.must && sum <= want.must+want.may,
		"%s: the gateway has got %d units, want %d and at most %d more; %v", occasion, sum, want.must, want.may, err)
}

// check compares what the gateway did, and what Atrium says a minute later, with the model.
func (m *modelWalk) check(t *testing.T, occasion string) {
	t.Helper()
	m.later(time.Minute + time.Second)
	m.api.Advance(time.Minute + time.Second)
	err := m.reconcile(t)
	require.That(t, err == nil || payment.OutcomeUnknown(err), "%s: %v", occasion, err)
	m.checkUsage(t, occasion)
	holdings := m.api.Subscriptions(m.customer)
	m.model.see(holdings, m.now().At)
	m.checkCharges(t, occasion)
	m.checkCredit(t, occasion)
	m.checkAdditions(t, holdings, occasion)
	live := m.api.Live(m.customer)
	require.That(t, len(live) <= 1, "%s: %d live", occasion, len(live))
	v, err := m.Subscription(t.Context(), m.now())
	if errors.Is(err, payment.ErrNoSubscription) {
		m.replaceCustomer(t, occasion)
		require.That(t, len(live) == 0 || m.mirror(t).Pending != nil,
			"%s: a live subscription is unknown for over a minute", occasion)
		return
	}
	require.That(t, err == nil, "%s: %v", occasion, err)
	for _, h := range holdings {
		if h.ID == v.ID && v.Entitled && !m.model.entitled(h, m.now().At) {
			t.Fatalf("%s: entitled by a subscription that is %s since %s", occasion, h.Status, m.model.since[h.ID])
		}
	}
	require.That(t, m.mirror(t).Pending != nil || (len(live) == 1 && live[0] == string(v.ID)),
		"%s: Atrium knows %s, the gateway has %v", occasion, v.ID, live)
}

// checkCharges fails t if more was paid for a period than it may cost, or if the workspace has had two trials.
func (m *modelWalk) checkCharges(t *testing.T, occasion string) {
	t.Helper()
	paid := map[period]int64{}
	for _, c := range m.api.Charges() {
		require.That(t, !slices.Contains(m.drafts, c.Invoice), "%s: a draft was charged: %+v", occasion, c)
		position := period{c.Subscription, c.Period}
		paid[position] += c.Amount
		if limit, exists := m.model.mayCost(position); exists && paid[position] > limit {
			t.Fatalf("%s: paid %d for the period from %s, which may cost %d", occasion, paid[position], c.Period, limit)
		}
	}
	n := len(m.model.trials)
	require.That(t, n <= 1, "%s: %d trials", occasion, n)
}

// replaceCustomer makes the workspace a customer again if it was deleted at the gateway. Atrium finds that when it
// reads the payment methods.
func (m *modelWalk) replaceCustomer(t *testing.T, occasion string) {
	t.Helper()
	if !m.api.Deleted(m.customer) || m.mirror(t).Pending != nil {
		return
	}
	w, err := m.Methods(t.Context(), m.now())
	require.That(t, err == nil && len(w.Methods) == 0, "%s: methods of a deleted customer: %+v, %v", occasion, w, err)
	m.begin(t, fmt.Sprint("customer ", m.api.Customers()+1))
}

// TestMoneyMatchesAModel checks random walks against a small model of money: nothing is paid twice for one period or
// for a trial, all usage is billed once, no one is entitled beyond the grace period without paying, credit packs are
// paid once and give what they sell until it is used, expires or is refunded, and no live subscription is unknown for
// over a minute. Each walk has its own database and its own time.
func TestMoneyMatchesAModel(t *testing.T) {
	first := proof.Seed(t)
	if proof.Running() { // a walk keeps little, so that collecting garbage less often costs little
		previous := debug.SetGCPercent(400)
		t.Cleanup(func() { debug.SetGCPercent(previous) })
	}
	for _, engine := range []struct {
		name  string
		walks uint64
		url   func(t *testing.T) string
	}{
		{"SQLite", 3, func(t *testing.T) string {
			return "sqlite:" + migrated.SQLite(t, filepath.Join(t.TempDir(), "test.db"))
		}},
		{"PostgreSQL", 1, func(t *testing.T) string { return migrated.Postgres(t) }},
	} {
		t.Run("on "+engine.name, func(t *testing.T) {
			t.Parallel()
			start, steps, walks := time.Now(), proof.Sample(200, 500), uint64(0)
			for walks < engine.walks || (proof.Running() && time.Since(start) < 20*time.Minute) {
				url, seed := engine.url(t), first+walks
				t.Run(fmt.Sprint("walk ", walks), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { walkByTheModel(t, newWorld(t, url), seed, steps) })
				})
				walks++
			}
			t.Logf("%d walks of %d steps, %.0f steps a second", walks, steps,
				float64(walks)*float64(steps)/time.Since(start).Seconds())
		})
	}
}

func walkByTheModel(t *testing.T, w *world, seed uint64, steps int) {
	m := newModelWalk(t, w, seed)
	done := map[string]int{}
	for step := range steps {
		var name string
		err := survive(func() (err error) { name, err = m.step(t, fmt.Sprintf("%d %d", seed, step)); return err })
		done[name]++
		m.check(t, fmt.Sprintf("seed %d, step %d, %s (%v)", seed, step, name, err))
	}
	m.checkBooks(t)
	m.checkExpiry(t)
	units := int64(0)
	for _, billedMetered := range m.model.billed {
		units += billedMetered.must
	}
	t.Logf("%d charges, %d trials, %d periods that rested, %d units of usage; %v", len(m.api.Charges()),
		len(m.model.trials), len(m.model.free), units, done)
}
