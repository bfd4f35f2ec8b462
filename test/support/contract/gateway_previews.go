package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
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
	same(t, "the subscription after a preview", *g.only(t, c), h)
	again, err := g.Preview(ctx, c, h.ID, a)
	must(t, err)
	again.NextAt = p.NextAt // a new period begins when the change is made
	same(t, "the same preview", again, p)
	before, _ := g.paid(t, c)
	h, err = g.Amend(ctx, key(), c, h.ID, a)
	must(t, err)
	after, _ := g.paid(t, c)
	same(t, "paid today", after-before, p.Today.Amount)
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
	before, _ := g.paid(t, c)
	g.Advance(t, h.PeriodEnd.Sub(h.PeriodStart)+time.Minute)
	after, _ := g.paid(t, c)
	same(t, "paid at the renewal", after-before, p.Next.Amount)
}

func gatewayPreviews(t *testing.T, g GatewayStage) {
	subscribed := func(t *testing.T, plan int) (payment.CustomerID, payment.GatewaySubscription) {
		t.Helper()
		c := g.customer(t, "4242")
		_, err := g.Subscribe(t.Context(), key(), c, g.order(plan))
		must(t, err)
		g.Advance(t, 10*24*time.Hour)
		return c, *g.only(t, c)
	}
	t.Run("an immediate change", func(t *testing.T) {
		c, h := subscribed(t, 0)
		p, h := g.priced(t, c, h, payment.Amendment{Plan: g.Plans[1], Quantity: 3, Resell: true})
		if p.Today.Amount <= 0 || p.Next.Amount != 3*g.Plans[1].Price.Amount || p.Today.Currency != "usd" {
			t.Errorf("%+v", p)
		}
		g.renewed(t, c, h, p)
	})
	t.Run("a change to another interval", func(t *testing.T) {
		c, h := subscribed(t, 0)
		p, h := g.priced(t, c, h, payment.Amendment{Plan: g.Plans[2], Quantity: 1, Resell: true})
		if p.Today.Amount >= g.Plans[2].Price.Amount || p.Next.Amount != g.Plans[2].Price.Amount {
			t.Errorf("%+v", p)
		}
		g.renewed(t, c, h, p)
	})
	t.Run("a change that leaves a credit", func(t *testing.T) {
		c, h := subscribed(t, 2)
		p, h := g.priced(t, c, h, payment.Amendment{Plan: g.Plans[0], Quantity: 1, Resell: true})
		if p.Today.Amount != 0 || p.Credit.Amount <= 0 || p.Next.Amount != 0 {
			t.Errorf("%+v", p)
		}
		g.renewed(t, c, h, p)
	})
	t.Run("a change at the renewal", func(t *testing.T) {
		c, h := subscribed(t, 1)
		p, h := g.priced(t, c, h, g.less(1))
		if p.Today.Amount != 0 || p.Next.Amount != g.Plans[0].Price.Amount {
			t.Errorf("%+v", p)
		}
		g.renewed(t, c, h, p)
	})
	t.Run("the end of the subscription", func(t *testing.T) {
		c, h := subscribed(t, 1)
		yes := true
		p, _ := g.priced(t, c, h, payment.Amendment{CancelAtPeriodEnd: &yes})
		if p.Today.Amount != 0 || p.Next.Amount != 0 || !p.NextAt.IsZero() {
			t.Errorf("%+v", p)
		}
	})
	t.Run("a subscription that ends", func(t *testing.T) {
		c, h := subscribed(t, 0)
		yes, no := true, false
		_, err := g.Amend(t.Context(), key(), c, h.ID, payment.Amendment{CancelAtPeriodEnd: &yes})
		must(t, err)
		p, h := g.priced(t, c, *g.only(t, c), payment.Amendment{Plan: g.Plans[1], Quantity: 1, Resell: true})
		if p.Today.Amount <= 0 || p.Next.Amount != 0 || !p.NextAt.IsZero() {
			t.Errorf("a change: %+v", p)
		}
		p, h = g.priced(t, c, h, payment.Amendment{CancelAtPeriodEnd: &no})
		if p.Today.Amount != 0 || p.Next.Amount != g.Plans[1].Price.Amount {
			t.Errorf("it goes on: %+v", p)
		}
		g.renewed(t, c, h, p)
	})
	t.Run("a change with a promotion code", func(t *testing.T) {
		for _, tt := range []struct {
			code string
			next int64
		}{{"TENOFF", 2610}, {"FIVEOFF", 2900}, {"HALF3", 1450}} {
			c, h := subscribed(t, 0)
			up := payment.Amendment{Plan: g.Plans[1], Quantity: 1, Resell: true}
			full, err := g.Preview(t.Context(), c, h.ID, up)
			must(t, err)
			up.Promotion = g.promoted(t, c, 1, tt.code).Promotion
			p, h := g.priced(t, c, h, up)
			if p.Today.Amount >= full.Today.Amount || p.Next.Amount+p.Credit.Amount != tt.next {
				t.Errorf("%s: %+v instead of %+v", tt.code, p, full)
			}
			g.renewed(t, c, h, p)
		}
	})
	t.Run("a promotion code without another change", func(t *testing.T) {
		c, h := subscribed(t, 0)
		p, h := g.priced(t, c, h, payment.Amendment{Promotion: g.promoted(t, c, 0, "FIVEOFF").Promotion})
		if p.Today.Amount != 0 || p.Next.Amount != 2*g.Plans[0].Price.Amount-500 {
			t.Errorf("%+v", p)
		}
		g.renewed(t, c, h, p)
	})
	t.Run("a change with automatic tax", func(t *testing.T) {
		c := g.customer(t, "4242")
		d := described()
		d.TaxIDs, d.Taxed = nil, true
		must(t, g.UpdateCustomer(t.Context(), key(), c, d))
		o := g.order(0)
		o.AutomaticTax = true
		_, err := g.Subscribe(t.Context(), key(), c, o)
		must(t, err)
		g.Advance(t, 10*24*time.Hour)
		p, h := g.priced(t, c, *g.only(t, c), payment.Amendment{Plan: g.Plans[1], Quantity: 1, Resell: true})
		if p.Next.Amount != g.Plans[1].Price.Amount*6/5 {
			t.Errorf("%+v", p)
		}
		g.renewed(t, c, h, p)
	})
	t.Run("a change during a trial", func(t *testing.T) {
		c := g.customer(t, "4242")
		o := g.order(0)
		o.TrialDays = 14
		h, err := g.Subscribe(t.Context(), key(), c, o)
		must(t, err)
		up := payment.Amendment{Plan: g.Plans[1], Quantity: 1, Resell: true, ProrateAt: h.PeriodStart}
		p, err := g.Preview(t.Context(), c, h.ID, up)
		must(t, err)
		if p.Today.Amount != 0 || p.Next.Amount != g.Plans[1].Price.Amount || !p.NextAt.Equal(h.TrialEnd) {
			t.Errorf("%+v", p)
		}
	})
	t.Run("a card that would be declined", func(t *testing.T) {
		c, h := subscribed(t, 0)
		must(t, g.SetDefault(t.Context(), key(), c, g.AddCard(t, c, "0341")))
		up := payment.Amendment{Plan: g.Plans[1], Quantity: 2, Resell: true, ProrateAt: h.PeriodStart}
		p, err := g.Preview(t.Context(), c, h.ID, up)
		must(t, err)
		same(t, "today", p.Today.Amount, 2*(g.Plans[1].Price.Amount-g.Plans[0].Price.Amount))
	})
	_, err := g.Preview(t.Context(), g.customer(t, "4242"), "sub_never_there", g.less(1))
	if err == nil || payment.OutcomeUnknown(err) {
		t.Errorf("a subscription that does not exist: %v", err)
	}
}
