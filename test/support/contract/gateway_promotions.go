package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// promoted returns the order of a plan with a promotion code.
func (g GatewayStage) promoted(t *testing.T, c payment.CustomerID, plan int, code string) payment.Order {
	t.Helper()
	o := g.order(plan)
	p, err := g.Promotion(t.Context(), c, code, payment.Sale{Plan: o.Plan, Quantity: o.Quantity})
	must(t, err)
	o.Promotion = &p
	return o
}

// afterRenewal moves the clock behind the end of the current period, and returns the subscription.
func (g GatewayStage) afterRenewal(t *testing.T, c payment.CustomerID,
	h payment.GatewaySubscription) payment.GatewaySubscription {
	t.Helper()
	start := h.PeriodEnd
	for h = *g.only(t, c); h.PeriodStart.Before(start); h = *g.only(t, c) {
		g.Advance(t, 24*time.Hour)
	}
	return h
}

func gatewayPromotions(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c := g.customer(t, "4242")
	price := 2 * g.Plans[0].Price.Amount
	h := g.mustSubscribe(t, c, g.promoted(t, c, 0, "tenoff"))
	d := h.Discount
	require.That(t, d != nil && d.Percent == 1000 && d.Duration == payment.DiscountForever && d.End.IsZero() &&
		!d.Start.IsZero() && h.Code == "TENOFF", "%+v, %+v", h, d)
	i := g.newest(t, c, payment.Paid)
	assert.That(t, i.Subtotal == price && i.Discount == price/10 && i.Total == price-price/10 &&
		len(i.Discounts) == 1 && i.Discounts[0].Percent == 1000, "%+v", i)
	h = g.afterRenewal(t, c, h)
	g.wantPaid(t, c, 2*(price-price/10))
	assert.That(t, h.Discount != nil, "%+v", h)
	t.Run("a code that cannot be used is invalid, whatever the reason", func(t *testing.T) {
		sale := payment.Sale{Plan: g.Plans[0], Quantity: 1}
		yen := payment.Sale{Plan: g.Plans[0], Quantity: 1}
		yen.Plan.Price.Currency = "jpy"
		_, err := g.Promotion(ctx, c, "FIVEOFF", yen)
		wantErr(t, err, payment.ErrPromotionInvalid)
		for _, code := range []string{"EXPIRED", "USEDUP", "FOREIGN", "NEVER-THERE", "WELCOME"} {
			_, err := g.Promotion(ctx, c, code, sale)
			wantErr(t, err, payment.ErrPromotionInvalid)
		}
		_, err = g.Promotion(ctx, g.customer(t), "WELCOME", sale)
		must(t, err)
	})
}

func gatewayDiscountDurations(t *testing.T, g GatewayStage) {
	price := 2 * g.Plans[0].Price.Amount
	t.Run("a discount for three months ends", func(t *testing.T) {
		c := g.customer(t, "4242")
		h := g.mustSubscribe(t, c, g.promoted(t, c, 0, "HALF3"))
		d := h.Discount
		require.That(t, d != nil && d.Months == 3 && d.Duration == payment.DiscountRepeating &&
			d.End.After(h.PeriodEnd), "%+v", h.Discount)
		for range 3 {
			h = g.afterRenewal(t, c, h)
		}
		g.wantPaid(t, c, 3*price/2+price)
		assert.That(t, h.Discount == nil, "%+v", h.Discount)
	})
	t.Run("a discount for one invoice ends with it", func(t *testing.T) {
		c := g.customer(t, "4242")
		h := g.mustSubscribe(t, c, g.promoted(t, c, 0, "FIVEOFF"))
		g.wantPaid(t, c, price-500)
		h = g.afterRenewal(t, c, h)
		g.wantPaid(t, c, 2*price-500)
		assert.That(t, h.Discount == nil, "%+v", h.Discount)
	})
	t.Run("the discount of a trial reduces the first payment", func(t *testing.T) {
		c := g.customer(t, "4242")
		o := g.promoted(t, c, 0, "FIVEOFF")
		o.TrialDays = 14
		g.mustSubscribe(t, c, o)
		g.Advance(t, 15*24*time.Hour)
		g.wantPaid(t, c, price-500)
	})
	t.Run("what costs nothing needs no payment method", func(t *testing.T) {
		c := g.customer(t)
		h := g.mustSubscribe(t, c, g.promoted(t, c, 0, "FREE1"))
		g.wantPaid(t, c, 0)
		assert.That(t, h.Status == payment.Active, "%+v", h)
	})
}

func gatewayPromotedChanges(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	low, high := 2*g.Plans[0].Price.Amount, 2*g.Plans[1].Price.Amount
	begin := func(t *testing.T, plan int) (payment.CustomerID, payment.GatewaySubscription) {
		t.Helper()
		c := g.customer(t, "4242")
		h := g.mustSubscribe(t, c, g.order(plan))
		return c, h
	}
	change := func(t *testing.T, c payment.CustomerID, h payment.GatewaySubscription,
		a payment.Amendment) payment.GatewaySubscription {
		t.Helper()
		p, err := g.Promotion(ctx, c, "TENOFF", payment.Sale{Plan: a.Plan, Quantity: a.Quantity})
		must(t, err)
		a.Promotion = &p
		h = g.mustAmend(t, c, h.ID, a)
		return h
	}
	t.Run("an upgrade with a code", func(t *testing.T) {
		c, h := begin(t, 0)
		h = change(t, c, h, payment.Amendment{Plan: g.Plans[1], Quantity: 2, Resell: true})
		want := low + high - high/10 - low
		if sum, _ := g.paid(t, c); sum < want-2 || sum > want+2 || h.Discount == nil || h.Code != "TENOFF" {
			t.Errorf("paid %d, want %d; %+v", sum, want, h)
		}
	})
	t.Run("an upgrade with a code that the payer would have to authenticate is declined", func(t *testing.T) {
		c, h := begin(t, 0)
		must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "3155")))
		p, err := g.Promotion(ctx, c, "TENOFF", payment.Sale{Plan: g.Plans[1], Quantity: 2})
		must(t, err)
		_, err = g.Amend(ctx, key(), c, h.ID,
			payment.Amendment{Plan: g.Plans[1], Quantity: 2, Resell: true, Promotion: &p})
		wantDecline(t, err, "authentication_required")
		same(t, "the subscription", *g.only(t, c), h)
		g.wantPaid(t, c, low)
	})
	t.Run("a code without another change reduces the next invoice", func(t *testing.T) {
		c, h := begin(t, 0)
		h = change(t, c, h, payment.Amendment{Plan: g.Plans[0], Quantity: 2})
		g.wantPaid(t, c, low)
		assert.That(t, h.Discount != nil, "%+v", h)
		g.afterRenewal(t, c, h)
		g.wantPaid(t, c, low+low-low/10)
	})
	t.Run("a downgrade with a code", func(t *testing.T) {
		c, h := begin(t, 1)
		h = change(t, c, h, payment.Amendment{Plan: g.Plans[0], Quantity: 2, Resell: true, AtRenewal: true})
		assert.That(t, h.Discount == nil && h.Pending != nil, "%+v", h)
		h = g.afterRenewal(t, c, h)
		g.wantPaid(t, c, high+low-low/10)
		assert.That(t, h.Discount != nil, "%+v", h)
	})
	t.Run("a downgrade keeps the discount", func(t *testing.T) {
		c := g.customer(t, "4242")
		h := g.mustSubscribe(t, c, g.promoted(t, c, 1, "TENOFF"))
		g.mustAmend(t, c, h.ID, g.less(2))
		h = g.afterRenewal(t, c, h)
		g.wantPaid(t, c, high-high/10+low-low/10)
		assert.That(t, h.Discount != nil, "%+v", h)
	})
	t.Run("what a discount deducted is not credited", func(t *testing.T) {
		c := g.customer(t, "4242")
		h := g.mustSubscribe(t, c, g.promoted(t, c, 0, "FREE1"))
		g.mustAmend(t, c, h.ID, payment.Amendment{Plan: g.Plans[1], Quantity: 2, Resell: true})
		sum, _ := g.paid(t, c)
		assert.That(t, sum >= high-2, "paid %d, want %d", sum, high)
	})
}
