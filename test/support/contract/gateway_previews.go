package contract

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// priced returns what a change costs, and makes it at that price.
func (g GatewayStage) priced(
	t *testing.T, c payment.CustomerID, h payment.GatewaySubscription, a payment.Amendment,
) (payment.Preview, payment.GatewaySubscription) {
	t.Helper()
	ctx := t.Context()
	a.ProrateAt = h.PeriodStart.Add(10 * 24 * time.Hour).Truncate(time.Second)
	p, err := g.Preview(ctx, c, h.ID, a)
	must(t, err)
	subscription := *g.only(t, c)
	for _, items := range [][]payment.Item{subscription.Items, h.Items} { // a gateway promises no order
		slices.SortFunc(items, func(a, b payment.Item) int { return cmp.Compare(a.ID, b.ID) })
	}
	same(t, "the subscription after a preview", subscription, h)
	second, err := g.Preview(ctx, c, h.ID, a)
	must(t, err)
	second.NextAt = p.NextAt // a new period begins when the change is made
	same(t, "the same preview", second, p)
	previous, _ := g.paid(t, c)
	h = g.mustAmend(t, c, h.ID, a)
	current, _ := g.paid(t, c)
	same(t, "paid today", current-previous, p.Today.Amount)
	w, err := g.Wallet(ctx, c)
	must(t, err)
	same(t, "the credit", w.Credit.Amount, p.Credit.Amount)
	return p, h
}

// renewed moves on to the next period, which must cost what a preview said.
func (g GatewayStage) renewed(t *testing.T, c payment.CustomerID, h payment.GatewaySubscription, p payment.Preview) {
	t.Helper()
	if d := p.NextAt.Sub(h.PeriodEnd); d > time.Minute || d < -time.Minute {
		t.Errorf("the next period begins at %s, want %s", p.NextAt, h.PeriodEnd)
	}
	previous, _ := g.paid(t, c)
	g.Advance(t, h.PeriodEnd.Sub(h.PeriodStart)+time.Minute)
	current, _ := g.paid(t, c)
	same(t, "paid at the renewal", current-previous, p.Next.Amount)
}

func gatewayPreviews(t *testing.T, g GatewayStage) {
	subscribedCustomer := func(t *testing.T, plan int) (payment.CustomerID, payment.GatewaySubscription) {
		t.Helper()
		c := g.customer(t, "4242")
		g.mustSubscribe(t, c, g.order(plan))
		g.Advance(t, 10*24*time.Hour)
		return c, *g.only(t, c)
	}
	yes := true
	prices := []int64{g.Plans[0].Price.Amount, g.Plans[1].Price.Amount, g.Plans[2].Price.Amount}
	for name, tt := range map[string]struct {
		plan   int
		change payment.Amendment
		want   func(payment.Preview) bool
	}{
		"an immediate change": {0, payment.Amendment{Plan: g.Plans[1], Quantity: 3, Resell: true},
			func(p payment.Preview) bool {
				return p.Today.Amount > 0 && p.Next.Amount == 3*prices[1] && p.Today.Currency == "usd"
			}},
		"a change to another interval": {0, payment.Amendment{Plan: g.Plans[2], Quantity: 1, Resell: true},
			func(p payment.Preview) bool { return p.Today.Amount < prices[2] && p.Next.Amount == prices[2] }},
		"a change that leaves a credit": {2, payment.Amendment{Plan: g.Plans[0], Quantity: 1, Resell: true},
			func(p payment.Preview) bool { return p.Today.Amount == 0 && p.Credit.Amount > 0 && p.Next.Amount == 0 }},
		"a change at the renewal": {1, g.less(1),
			func(p payment.Preview) bool { return p.Today.Amount == 0 && p.Next.Amount == prices[0] }},
		"the end of the subscription": {1, payment.Amendment{CancelAtPeriodEnd: &yes},
			func(p payment.Preview) bool { return p.Today.Amount == 0 && p.Next.Amount == 0 && p.NextAt.IsZero() }},
		"a promotion code without another change": {0,
			payment.Amendment{Promotion: &payment.Promotion{Code: "FIVEOFF"}},
			func(p payment.Preview) bool { return p.Today.Amount == 0 && p.Next.Amount == 2*prices[0]-500 }},
	} {
		t.Run(name, func(t *testing.T) {
			c, h := subscribedCustomer(t, tt.plan)
			if code := tt.change.Promotion; code != nil {
				tt.change.Promotion = g.promoted(t, c, tt.plan, code.Code).Promotion
			}
			p, h := g.priced(t, c, h, tt.change)
			assert.That(t, tt.want(p), "%+v", p)
			if tt.change.CancelAtPeriodEnd == nil {
				g.renewed(t, c, h, p)
			}
		})
	}
	t.Run("a subscription that ends", func(t *testing.T) {
		c, h := subscribedCustomer(t, 0)
		negative := false
		g.mustAmend(t, c, h.ID, payment.Amendment{CancelAtPeriodEnd: &yes})
		p, h := g.priced(t, c, *g.only(t, c), payment.Amendment{Plan: g.Plans[1], Quantity: 1, Resell: true})
		assert.That(t, p.Today.Amount > 0 && p.Next.Amount == 0 && p.NextAt.IsZero(), "a change: %+v", p)
		p, h = g.priced(t, c, h, payment.Amendment{CancelAtPeriodEnd: &negative})
		assert.That(t, p.Today.Amount == 0 && p.Next.Amount == g.Plans[1].Price.Amount, "it goes on: %+v", p)
		g.renewed(t, c, h, p)
	})
	t.Run("a change with a promotion code", func(t *testing.T) {
		for _, tt := range []struct {
			code string
			next int64
		}{{"TENOFF", 2610}, {"FIVEOFF", 2900}, {"HALF3", 1450}} {
			c, h := subscribedCustomer(t, 0)
			upper := payment.Amendment{Plan: g.Plans[1], Quantity: 1, Resell: true}
			full, err := g.Preview(t.Context(), c, h.ID, upper)
			must(t, err)
			upper.Promotion = g.promoted(t, c, 1, tt.code).Promotion
			p, h := g.priced(t, c, h, upper)
			assert.That(t, p.Today.Amount < full.Today.Amount && p.Next.Amount+p.Credit.Amount == tt.next,
				"%s: %+v instead of %+v", tt.code, p, full)
			g.renewed(t, c, h, p)
		}
	})
	t.Run("a change with automatic tax", func(t *testing.T) {
		c := g.customer(t, "4242")
		d := described()
		d.TaxIDs, d.Taxed = nil, true
		must(t, g.UpdateCustomer(t.Context(), key(), c, d))
		o := g.order(0)
		o.AutomaticTax = true
		g.mustSubscribe(t, c, o)
		g.Advance(t, 10*24*time.Hour)
		p, h := g.priced(t, c, *g.only(t, c), payment.Amendment{Plan: g.Plans[1], Quantity: 1, Resell: true})
		assert.That(t, p.Next.Amount == g.Plans[1].Price.Amount*6/5, "%+v", p)
		g.renewed(t, c, h, p)
	})
	t.Run("a change during a trial", func(t *testing.T) {
		c := g.customer(t, "4242")
		o := g.order(0)
		o.TrialDays = 14
		h := g.mustSubscribe(t, c, o)
		upper := payment.Amendment{Plan: g.Plans[1], Quantity: 1, Resell: true, ProrateAt: h.PeriodStart}
		p, err := g.Preview(t.Context(), c, h.ID, upper)
		must(t, err)
		assert.That(t, p.Today.Amount == 0 && p.Next.Amount == g.Plans[1].Price.Amount && p.NextAt.Equal(h.TrialEnd),
			"%+v", p)
	})
	t.Run("a card that would be declined", func(t *testing.T) {
		c, h := subscribedCustomer(t, 0)
		must(t, g.SetDefault(t.Context(), key(), c, g.AddCard(t, c, "0341")))
		upper := payment.Amendment{Plan: g.Plans[1], Quantity: 2, Resell: true, ProrateAt: h.PeriodStart}
		p, err := g.Preview(t.Context(), c, h.ID, upper)
		must(t, err)
		same(t, "today", p.Today.Amount, 2*(g.Plans[1].Price.Amount-g.Plans[0].Price.Amount))
	})
	_, err := g.Preview(t.Context(), g.customer(t, "4242"), "sub_never_there", g.less(1))
	assert.That(t, err != nil && !payment.OutcomeUnknown(err), "a subscription that does not exist: %v", err)
}
