package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func (g GatewayStage) pause(
	t *testing.T, c payment.CustomerID, h payment.GatewaySubscription, pause bool,
) (payment.GatewaySubscription, error) {
	t.Helper()
	return g.Amend(t.Context(), key(), c, h.ID, payment.Amendment{Pause: &pause, PaidUntil: h.PaidUntil})
}

func gatewayPauses(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	price := 2 * g.Plans[0].Price.Amount
	pause := func(t *testing.T) (payment.CustomerID, payment.GatewaySubscription) {
		t.Helper()
		c := g.customer(t, "4242")
		original := g.mustSubscribe(t, c, g.order(0))
		g.mustAmend(t, c, original.ID, g.less(1))
		h, err := g.pause(t, c, original, true)
		must(t, err)
		same(t, "as it is read", *g.only(t, c), h)
		require.That(t, h.Paused && h.Status == payment.Active && h.PaidUntil.Equal(original.PeriodEnd) &&
			h.Pending == nil, "%+v", h)
		return c, h
	}
	t.Run("nothing is charged before what was paid has ended", func(t *testing.T) {
		c, h := pause(t)
		g.Advance(t, 10*24*time.Hour)
		item, err := g.pause(t, c, h, false)
		must(t, err)
		assert.That(t, !item.Paused && item.PaidUntil.IsZero() && item.PeriodEnd.Equal(h.PeriodEnd), "%+v", item)
		g.afterRenewal(t, c, item)
		g.wantPaid(t, c, 2*price)
	})
	t.Run("its periods cost nothing, and to resume starts another one", func(t *testing.T) {
		c, h := pause(t)
		rests := g.afterRenewal(t, c, h)
		rests = g.afterRenewal(t, c, rests)
		require.That(t, rests.Paused && rests.Status == payment.Active && rests.PaidUntil.Equal(h.PeriodEnd),
			"%+v", rests)
		g.Advance(t, 5*24*time.Hour)
		g.wantPaid(t, c, price)
		current, err := g.pause(t, c, rests, false)
		must(t, err)
		assert.That(t, !current.Paused && current.PeriodStart.After(rests.PeriodStart.AddDate(0, 0, 4)), "%+v", current)
		g.wantPaid(t, c, 2*price)
		g.afterRenewal(t, c, current)
		g.wantPaid(t, c, 3*price)
	})
	t.Run("a card that cannot be charged leaves it paused", func(t *testing.T) {
		for last4, code := range map[string]string{"0341": "generic_decline", "3155": "authentication_required"} {
			c, h := pause(t)
			rests := g.afterRenewal(t, c, h)
			must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, last4)))
			_, err := g.pause(t, c, rests, false)
			wantDecline(t, err, code)
			same(t, "the subscription", *g.only(t, c), rests)
		}
	})
	t.Run("what is used while it is paused costs nothing, also when it ends", func(t *testing.T) {
		plan := g.Plans[len(g.Plans)-1]
		c := g.customer(t, "4242")
		h := g.mustSubscribe(t, c, payment.Order{Plan: plan, Quantity: 1})
		h, err := g.pause(t, c, h, true)
		must(t, err)
		h = g.afterRenewal(t, c, h)
		must(t, g.ReportUsage(ctx, g.used(c, 30, h.PeriodStart.Add(time.Second))))
		g.Advance(t, time.Minute)
		must(t, g.Cancel(ctx, key(), c, h.ID, payment.Cancellation{}))
		g.wantPaid(t, c, plan.Price.Amount)
	})
	t.Run("a preview", func(t *testing.T) {
		c, h := pause(t)
		yes := true
		p, err := g.Preview(ctx, c, h.ID, payment.Amendment{CancelAtPeriodEnd: &yes, ProrateAt: h.PeriodStart})
		must(t, err)
		assert.That(t, p.Today.Amount == 0 && p.Next.Amount == 0 && p.NextAt.IsZero(), "%+v", p)
	})
}

func gatewayReasons(t *testing.T, g GatewayStage) {
	ctx, yes, negative := t.Context(), true, false
	c := g.customer(t, "4242")
	h := g.mustSubscribe(t, c, g.order(0))
	reason := payment.Cancellation{Feedback: "too_expensive", Comment: "We found something for less."}
	h = g.mustAmend(t, c, h.ID, payment.Amendment{CancelAtPeriodEnd: &yes, Cancellation: &reason})
	assert.That(t, h.Cancellation == reason && g.only(t, c).Cancellation == reason, "%+v", h)
	goesOn := payment.Amendment{CancelAtPeriodEnd: &negative, Cancellation: &payment.Cancellation{}}
	h = g.mustAmend(t, c, h.ID, goesOn)
	assert.That(t, h.Cancellation == (payment.Cancellation{}) && g.only(t, c).Cancellation == h.Cancellation, "%+v", h)
	must(t, g.Cancel(ctx, key(), c, h.ID, reason))
	all, err := g.Subscriptions(ctx, c)
	must(t, err)
	assert.That(t, len(all) == 1 && all[0].Status == payment.Canceled && all[0].Cancellation == reason, "%+v", all)
}
