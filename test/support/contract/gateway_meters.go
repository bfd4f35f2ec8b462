package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// used returns an event for usage of the metered plan, which is the last one.
func (g GatewayStage) used(c payment.CustomerID, quantity int64, moment time.Time) payment.UsageEvent {
	m := g.Plans[len(g.Plans)-1].Metered
	return payment.UsageEvent{
		ID: key(), Customer: c, Feature: m.Feature, PriceRef: m.PriceRef, Quantity: quantity, At: moment,
	}
}

func gatewayMeters(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	plan := g.Plans[len(g.Plans)-1]
	m := plan.Metered
	c := g.customer(t, "4242")
	h := g.mustSubscribe(t, c, payment.Order{Plan: plan, Quantity: 2})
	require.That(t, h.Plan == plan.ID && h.Quantity == 2 && h.Rate.Price == plan.Price, "%+v", h)
	price := 2 * plan.Price.Amount
	g.wantPaid(t, c, price)
	e := g.used(c, 30, h.PeriodStart.Add(time.Second))
	for range 2 { // counts once
		must(t, g.ReportUsage(ctx, e))
	}
	g.Lose(1)
	lost := g.used(c, 12, h.PeriodStart.Add(2*time.Second))
	if err := g.ReportUsage(ctx, lost); !payment.OutcomeUnknown(err) {
		t.Fatalf("error = %v, want one that leaves the outcome open", err)
	}
	must(t, g.ReportUsage(ctx, lost))
	h = g.afterRenewal(t, c, h)
	g.wantPaid(t, c, 2*price+42*m.Amount)
	i := g.newest(t, c, payment.Paid)
	usage := slices.IndexFunc(i.Lines,
		func(l payment.InvoiceLine) bool { return l.Quantity == 42 && l.Amount == 42*m.Amount })
	assert.That(t, usage >= 0 && len(i.Lines) == 2, "lines: %+v", i.Lines)
	t.Run("the next period begins with no usage", func(t *testing.T) {
		h = g.afterRenewal(t, c, h)
		g.wantPaid(t, c, 3*price+42*m.Amount)
	})
	t.Run("a preview of its renewal includes what was used so far", func(t *testing.T) {
		must(t, g.ReportUsage(ctx, g.used(c, 5, h.PeriodStart.Add(time.Second))))
		extra := payment.Amendment{Plan: plan, Quantity: 3, Resell: true}
		p, h := g.priced(t, c, h, extra)
		assert.That(t, p.Next.Amount == 3*plan.Price.Amount+5*m.Amount, "%+v", p)
		g.renewed(t, c, h, p)
	})
	t.Run("a plan without a metered price replaces it at the renewal", func(t *testing.T) {
		h := *g.only(t, c)
		must(t, g.ReportUsage(ctx, g.used(c, 7, h.PeriodStart.Add(time.Second))))
		previous, _ := g.paid(t, c)
		change := payment.Amendment{Plan: g.Plans[1], Quantity: 2, Resell: true, AtRenewal: true, Meter: m.PriceRef}
		changedSubscription := g.mustAmend(t, c, h.ID, change)
		p := changedSubscription.Pending
		assert.That(t, p != nil && p.Plan == g.Plans[1].ID && p.Quantity == 2, "%+v", changedSubscription)
		if h = g.afterRenewal(t, c, changedSubscription); h.Plan != g.Plans[1].ID {
			t.Errorf("%+v", h)
		}
		current, _ := g.paid(t, c)
		same(t, "paid", current-previous, 2*g.Plans[1].Price.Amount+7*m.Amount)
	})
	t.Run("and the other way round, at once", func(t *testing.T) {
		h := *g.only(t, c)
		change := g.mustAmend(t, c, h.ID, payment.Amendment{Plan: plan, Quantity: 9, Resell: true})
		assert.That(t, change.Plan == plan.ID && change.Quantity == 9, "%+v", change)
	})
	for name, event := range map[string]payment.UsageEvent{
		"too old":               g.used(c, 1, time.Now().AddDate(-1, 0, 0)),
		"from another customer": g.used("cus_other", 1, time.Now()),
	} {
		err := g.ReportUsage(ctx, event)
		assert.That(t, err != nil && !payment.OutcomeUnknown(err), "%s: %v", name, err)
	}
}

func gatewayMeteredEnds(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	plan := g.Plans[len(g.Plans)-1]
	yes := true
	for name, end := range map[string]func(t *testing.T, c payment.CustomerID, h payment.GatewaySubscription){
		"at once": func(t *testing.T, c payment.CustomerID, h payment.GatewaySubscription) {
			g.Advance(t, time.Minute)
			must(t, g.Cancel(ctx, key(), c, h.ID, payment.Cancellation{}))
		},
		"with its period": func(t *testing.T, c payment.CustomerID, h payment.GatewaySubscription) {
			g.mustAmend(t, c, h.ID, payment.Amendment{CancelAtPeriodEnd: &yes})
			g.Advance(t, time.Until(h.PeriodEnd)+time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := g.customer(t, "4242")
			o := g.promoted(t, c, len(g.Plans)-1, "TENOFF")
			o.Promotion = nil
			h := g.mustSubscribe(t, c, o)
			must(t, g.ReportUsage(ctx, g.used(c, 11, h.PeriodStart.Add(time.Second))))
			end(t, c, h)
			require.That(t, g.only(t, c) == nil, "it lives")
			sum, _ := g.paid(t, c)
			same(t, "paid", sum, 2*plan.Price.Amount+11*plan.Metered.Amount)
		})
	}
	t.Run("a discount reduces what was used, and a trial is free", func(t *testing.T) {
		c := g.customer(t, "4242")
		o := g.promoted(t, c, len(g.Plans)-1, "TENOFF")
		o.TrialDays = 14
		h := g.mustSubscribe(t, c, o)
		must(t, g.ReportUsage(ctx, g.used(c, 50, h.PeriodStart.Add(time.Second))))
		h = g.afterRenewal(t, c, h)
		must(t, g.ReportUsage(ctx, g.used(c, 20, h.PeriodStart.Add(time.Second))))
		g.afterRenewal(t, c, h)
		sum, _ := g.paid(t, c)
		same(t, "paid", sum, (4*plan.Price.Amount+20*plan.Metered.Amount)*9/10)
	})
}
