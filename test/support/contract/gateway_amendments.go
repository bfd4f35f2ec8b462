package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func gatewayAmendments(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c := g.customer(t, "4242")
	h := g.mustSubscribe(t, c, g.order(0))
	previous, _ := g.paid(t, c)
	k := key()
	upper := payment.Amendment{Plan: g.Plans[1], Quantity: 2, Resell: true}
	for range 2 {
		got, err := g.Amend(ctx, k, c, h.ID, upper)
		must(t, err)
		h = got
	}
	current, n := g.paid(t, c)
	require.That(t, h.Plan == g.Plans[1].ID && h.Pending == nil && current > previous &&
		current <= previous+2*g.Plans[1].Price.Amount && n == 2, "%+v; paid %d, then %d by %d", h, previous, current, n)
	h = g.mustAmend(t, c, h.ID, g.less(1))
	if sum, _ := g.paid(t, c); sum != current || h.Plan != g.Plans[1].ID || h.Quantity != 2 {
		t.Fatalf("%+v; paid %d, before %d", h, sum, current)
	}
	same(t, "pending", h.Pending, &payment.PendingChange{Plan: g.Plans[0].ID, Quantity: 1, At: h.PeriodEnd})
	g.Advance(t, time.Until(h.PeriodEnd)+time.Minute)
	got := g.only(t, c)
	assert.That(t, got.Plan == g.Plans[0].ID && got.Quantity == 1 && got.Pending == nil, "%+v", got)
	g.wantPaid(t, c, current+g.Plans[0].Price.Amount)
	h = g.amend(t, c, h.ID, payment.Amendment{Quantity: 3, Resell: true})
	g.amend(t, c, h.ID, g.less(2)) // which the next change drops
	h = g.amend(t, c, h.ID, payment.Amendment{Plan: g.Plans[2], Quantity: 1, Resell: true})
	assert.That(t, h.PeriodEnd.Sub(h.PeriodStart) >= 360*24*time.Hour && h.Pending == nil,
		"another interval begins a new period: %+v", h)
}

// less is an amendment that takes effect at renewal.
func (g GatewayStage) less(quantity int) payment.Amendment {
	return payment.Amendment{Plan: g.Plans[0], Quantity: quantity, Resell: true, AtRenewal: true}
}

func gatewayRenewals(t *testing.T, g GatewayStage) {
	c := g.customer(t, "4242")
	o := g.order(1)
	o.Quantity = 5
	h := g.mustSubscribe(t, c, o)
	instant := h.PeriodEnd
	for _, quantity := range []int{4, 3} { // the later one counts
		h = g.mustAmend(t, c, h.ID, g.less(quantity))
		same(t, "pending", h.Pending, &payment.PendingChange{Plan: g.Plans[0].ID, Quantity: quantity, At: instant})
	}
	g.Advance(t, time.Until(h.PeriodEnd)+time.Minute)
	h = g.mustAmend(t, c, h.ID, g.less(2)) // in the period that began with the first one
	require.That(t, h.Quantity == 3 && h.Pending != nil && h.Pending.Quantity == 2, "%+v", h)
	h = g.mustAmend(t, c, h.ID, payment.Amendment{Plan: g.Plans[1], Quantity: 3, Resell: true})
	require.That(t, h.Plan == g.Plans[1].ID && h.Quantity == 3 && h.Pending == nil,
		"what is bought now takes the place of what was to come: %+v", h)
	g.Advance(t, h.PeriodEnd.Sub(h.PeriodStart))
	got := g.only(t, c)
	assert.That(t, got.Plan == g.Plans[1].ID && got.Quantity == 3, "%+v", got)
}

func gatewayEndings(t *testing.T, g GatewayStage) {
	ctx, yes, negative := t.Context(), true, false
	c := g.customer(t, "4242")
	h := g.mustSubscribe(t, c, g.order(0))
	g.mustAmend(t, c, h.ID, g.less(1))
	k := key()
	for range 2 {
		got, err := g.Amend(ctx, k, c, h.ID, payment.Amendment{CancelAtPeriodEnd: &yes})
		must(t, err)
		require.That(t, got.CancelAtPeriodEnd && got.Pending == nil, "%+v", got)
	}
	k = key()
	pair := g.less(1)
	pair.CancelAtPeriodEnd = &negative
	for range 2 {
		got, err := g.Amend(ctx, k, c, h.ID, pair)
		must(t, err)
		require.That(t, !got.CancelAtPeriodEnd && got.Pending != nil && got.Pending.Quantity == 1 &&
			got.Quantity == 2, "%+v", got)
	}
	g.Advance(t, time.Until(h.PeriodEnd)+time.Minute)
	got := g.only(t, c)
	assert.That(t, got.Quantity == 1, "%+v", got)
}

func gatewayDeclinedAmendments(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c := g.customer(t, "4242")
	h := g.mustSubscribe(t, c, g.order(0))
	must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "0341")))
	_, err := g.Amend(ctx, key(), c, h.ID, payment.Amendment{Plan: g.Plans[1], Quantity: 2, Resell: true})
	wantDecline(t, err, "generic_decline")
	same(t, "the subscription", *g.only(t, c), h)
}

func gatewayKeptAmendments(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c := g.customer(t, "4242")
	o := g.order(0)
	o.Quantity = 5
	h := g.mustSubscribe(t, c, o)
	h = g.mustAmend(t, c, h.ID, g.less(3))
	must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "0341")))
	k := key()
	upper := payment.Amendment{Plan: g.Plans[1], Quantity: 5, Resell: true}
	for range 2 {
		_, err := g.Amend(ctx, k, c, h.ID, upper)
		wantDecline(t, err, "generic_decline")
		same(t, "the subscription", *g.only(t, c), h)
	}
}
