package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func gatewayTrials(t *testing.T, g GatewayStage) {
	c := g.customer(t, "4242")
	o := g.order(0)
	o.TrialDays = 14
	h := g.mustSubscribe(t, c, o)
	if sum, _ := g.paid(t, c); sum != 0 || h.Status != payment.Trialing || h.TrialEnd.IsZero() || h.Action != nil {
		t.Fatalf("%+v; paid %d", h, sum)
	}
	g.Advance(t, 15*24*time.Hour)
	got := g.only(t, c)
	assert.That(t, got.Status == payment.Active, "%+v", got)
	g.wantPaid(t, c, 2*g.Plans[0].Price.Amount)
	t.Run("a trial without a payment method requires a setup", func(t *testing.T) {
		h := g.mustSubscribe(t, g.customer(t), o)
		assert.That(t, h.Status == payment.Trialing && h.Action != nil && h.Action.Type == payment.ConfirmSetup &&
			!h.Action.ClientSecret.IsZero(), "%+v", h)
	})
}

// gatewayTrialsEnded ends trials before their time.
func gatewayTrialsEnded(t *testing.T, g GatewayStage) {
	begin := func(t *testing.T, cards ...string) (payment.CustomerID, payment.GatewaySubscription) {
		t.Helper()
		c := g.customer(t, cards...)
		o := g.order(0)
		o.TrialDays = 14
		h := g.mustSubscribe(t, c, o)
		return c, h
	}
	for name, a := range map[string]payment.Amendment{
		"alone":             {EndTrial: true},
		"with another plan": {EndTrial: true, Plan: g.Plans[1], Quantity: 1, Resell: true},
	} {
		t.Run(name, func(t *testing.T) {
			c, h := begin(t, "4242")
			g.Advance(t, 24*time.Hour)
			price := 2 * g.Plans[0].Price.Amount
			if a.Plan.ID != "" {
				price = a.Plan.Price.Amount
			}
			a.ProrateAt = h.PeriodStart.Add(24 * time.Hour)
			p, err := g.Preview(t.Context(), c, h.ID, a)
			must(t, err)
			same(t, "today", p.Today.Amount, price)
			same(t, "the next period", p.Next.Amount, price)
			next := payment.Month.Advance(a.ProrateAt, 1, a.ProrateAt.Day())
			assert.That(t, p.NextAt.Sub(next).Abs() <= time.Minute, "it begins at %s, want %s", p.NextAt, next)
			g.mustAmend(t, c, h.ID, a)
			got := g.only(t, c)
			assert.That(t, got.Status == payment.Active && !got.PeriodStart.Before(a.ProrateAt), "%+v", got)
			sum, n := g.paid(t, c)
			assert.That(t, sum == price, "paid %d by %d invoices", sum, n)
		})
	}
	t.Run("without a card at its end, by rule", func(t *testing.T) {
		begin := func(rule payment.TrialEnd) (payment.CustomerID, payment.GatewaySubscription) {
			c, o := g.customer(t), g.order(0)
			o.TrialDays, o.TrialEnd = 14, rule
			h := g.mustSubscribe(t, c, o)
			return c, h
		}
		canceledCustomer, first := begin(payment.CancelTrial)
		pausedCustomer, second := begin(payment.PauseTrial)
		g.Advance(t, 15*24*time.Hour)
		same(t, "the one to cancel", g.status(t, canceledCustomer, first.ID), payment.Canceled)
		same(t, "the one to pause", g.status(t, pausedCustomer, second.ID), payment.Paused)
		g.Advance(t, 40*24*time.Hour)
		must(t, g.SetDefault(t.Context(), key(), pausedCustomer, g.AddCard(t, pausedCustomer, "4242")))
		negative := false
		g.mustAmend(t, pausedCustomer, second.ID, payment.Amendment{Pause: &negative})
		same(t, "after it was resumed", g.status(t, pausedCustomer, second.ID), payment.Active)
		sum, _ := g.paid(t, pausedCustomer)
		assert.Equal(t, "paid", sum, 2*g.Plans[0].Price.Amount)
	})
	t.Run("a card that is declined leaves the trial", func(t *testing.T) {
		c, h := begin(t, "0341")
		_, err := g.Amend(t.Context(), key(), c, h.ID, payment.Amendment{EndTrial: true})
		wantErr(t, err, payment.ErrCardDeclined)
		got := g.only(t, c)
		assert.That(t, got.Status == payment.Trialing && got.TrialEnd.Equal(h.TrialEnd), "%+v", got)
	})
}

// status returns the status of one of a customer's subscriptions.
func (g GatewayStage) status(t *testing.T, c payment.CustomerID, id payment.SubscriptionID) payment.Status {
	t.Helper()
	all, err := g.Subscriptions(t.Context(), c)
	must(t, err)
	for _, h := range all {
		if h.ID == id {
			return h.Status
		}
	}
	return ""
}
