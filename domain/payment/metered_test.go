package payment_test

import (
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	perMessage = &payment.MeteredPrice{Feature: "messages", Amount: 10, PriceRef: "price_messages"}
	messages   = payment.Plan{ID: "metered", Price: payment.Money{Amount: 900, Currency: "usd"},
		Interval:      payment.Month,
		IntervalCount: 1, PriceRef: "price_metered", Metered: perMessage}
	meteredPro = payment.Plan{ID: "metered-pro", Price: payment.Money{Amount: 2900, Currency: "usd"},
		Interval: payment.Month, IntervalCount: 1, PriceRef: "price_metered_pro", Metered: perMessage}
	meteredYear = payment.Plan{ID: "metered-year", Price: payment.Money{Amount: 9000, Currency: "usd"},
		Interval: payment.Year, IntervalCount: 1, PriceRef: "price_metered_year", Metered: perMessage}
	byUsage = append(payment.Plans{messages, meteredPro, meteredYear}, plans...)
)

func TestUsageThatIsBilled(t *testing.T) {
	for name, tt := range map[string]struct {
		c       *payment.Customer
		feature string
		billed  bool
	}{
		"active":                                 {active("metered"), "messages", true},
		"past due":                               {subscribed("metered", payment.PastDue), "messages", true},
		"on trial":                               {subscribed("metered", payment.Trialing), "messages", false},
		"incomplete":                             {subscribed("metered", payment.Incomplete), "messages", false},
		"another feature":                        {active("metered"), "tokens", false},
		"another plan":                           {active("basic"), "messages", false},
		"no plan any more":                       {active("other"), "messages", false},
		"an unknown plan with the metered price": {usesMeter(active("")), "messages", true},
		"a price of before, by the plan":         {repriced(active("metered")), "messages", true},
		"no subscription":                        {customer(), "messages", false},
		"the plan with pro":                      {active("metered-pro"), "messages", true},
	} {
		m := byUsage.Metering(tt.c.Subscription, tt.feature)
		assert.That(t, (m != nil) == tt.billed, "%s: %+v", name, m)
	}
	assert.That(t, byUsage.Reportable()["messages"], "a feature that is billed cannot be reported")
}

// repriced has the subscription of c billed by a metered price that is no longer configured.
func repriced(c *payment.Customer) *payment.Customer {
	c.Subscription.Item.Meter = "price_of_before"
	return c
}

func TestUsageOfAnUnknownPlanIsBilledByItsMeteredPrice(t *testing.T) {
	c := active("metered")
	seen := []payment.GatewaySubscription{holding("", item("price_deal", 700, 1), meter)}
	seeSubscriptions(c, owner, seen, byUsage)
	s := c.Subscription
	assert.That(t, s.Plan == "" && byUsage.Metering(s, "messages") == messages.Metered, "%+v", s)
	p := byUsage.PeriodOf(c, "messages", s.PeriodEnd.Add(time.Hour))
	assert.That(t, p.Start.Equal(s.PeriodEnd) && p.End.After(p.Start), "an unseen renewal has the period %+v", p)
}

func TestAChangeOfTheMeteredPriceWaitsForTheRenewal(t *testing.T) {
	for name, tt := range map[string]struct {
		from, to payment.PlanID
		status   payment.Status
		waits    bool
	}{
		"the same price":        {"metered", "metered-pro", payment.Active, false},
		"none instead":          {"metered", "pro", payment.Active, true},
		"none before":           {"basic", "metered-pro", payment.Active, false},
		"none, during a trial":  {"metered", "pro", payment.Trialing, false},
		"a smaller amount, too": {"metered-pro", "metered", payment.Active, true},
		"another interval":      {"metered", "metered-year", payment.Active, true},
	} {
		for references, sold := range map[string]payment.Plans{
			"of a catalog": byUsage, "not there": withoutRefs(byUsage),
		} {
			c := subscribed(tt.from, tt.status, card("a", 1))
			_, err := c.ChangeSubscription(owner, "k", nil, payment.Changes{Plan: &tt.to}, sold)
			require.NoError(t, err)
			assert.That(t, c.Pending.AtRenewal == tt.waits, "%s, references %s: %+v", name, references, c.Pending)
		}
	}
	yes := true
	_, err := active("metered").ChangeSubscription(owner, "k", nil, payment.Changes{Pause: &yes}, byUsage)
	require.ErrorIs(t, err, fault.ErrInvalid)
}

// withoutRefs returns plans as they are configured for a gateway without a catalog of prices.
func withoutRefs(plans payment.Plans) payment.Plans {
	out := slices.Clone(plans)
	for i, p := range out {
		if out[i].PriceRef = ""; p.Metered != nil {
			m := *p.Metered
			m.PriceRef, out[i].Metered = "", &m
		}
	}
	return out
}

// TestTheMeteredPriceThatIsBilledIsReplacedThoughItIsNoLongerConfigured has a plan whose configuration got another
// metered price after the purchase, or that is no longer configured. Two metered items would bill each report twice.
func TestTheMeteredPriceThatIsBilledIsReplacedThoughItIsNoLongerConfigured(t *testing.T) {
	repricedPlan := messages
	repricedPlan.Metered = &payment.MeteredPrice{Feature: "messages", Amount: 20, PriceRef: "price_dearer"}
	for name, configuredPlans := range map[string]payment.Plans{
		"another price": append(payment.Plans{repricedPlan}, plans...), "no such plan": plans,
	} {
		for moment, value := range map[string]payment.Plans{"seen before": byUsage, "seen only now": configuredPlans} {
			c := active("metered")
			seen := []payment.GatewaySubscription{holding("metered", item("price_metered", 900, 1), meter)}
			seeSubscriptions(c, owner, seen, value)
			seeSubscriptions(c, owner, seen, configuredPlans)
			pro := payment.PlanID("pro")
			_, err := c.ChangeSubscription(owner, "k", nil, payment.Changes{Plan: &pro}, configuredPlans)
			require.NoError(t, err)
			assert.That(t, c.Pending.Meter == "price_messages" && c.Pending.AtRenewal,
				"%s, %s: %+v", name, moment, c.Pending)
		}
	}
	c := active("basic")
	seen := []payment.GatewaySubscription{holding("basic", item("price_basic", 900, 1), meter)}
	seeSubscriptions(c, owner, seen, plans)
	assert.Equal(t, "a metered item that someone else added is taken for that of the plan", c.Subscription.Item.Meter,
		"")
}

func TestWhenUsageIsSent(t *testing.T) {
	c := customer()
	e := payment.UsageEvent{Customer: c.ID, At: now}
	triedEvent := e
	triedEvent.TriedAt = now
	for name, tt := range map[string]struct {
		e     payment.UsageEvent
		after time.Duration
		want  bool
	}{
		"at once":                         {e, 0, true},
		"after 33 days":                   {e, 33 * 24 * time.Hour, true},
		"after 34 days":                   {e, 34 * 24 * time.Hour, false},
		"again within a day":              {triedEvent, 22 * time.Hour, true},
		"again after a day":               {triedEvent, 23 * time.Hour, false},
		"for a customer that was deleted": {payment.UsageEvent{Customer: "cus_old", At: now}, 0, false},
	} {
		moment := now.Add(tt.after)
		assert.That(t, tt.e.Sendable(moment, moment, c) == tt.want, "%s: %t", name, !tt.want)
	}
	c.LoseUsage(owner, &e)
	assert.That(t, recorded(&c.Log) == "usage.not_billed ", "%v", recorded(&c.Log))
}

func TestAPreviewWithUsage(t *testing.T) {
	p := payment.Preview{At: now, Metered: true, Next: payment.Money{Amount: 100, Currency: "usd"}}
	q := p
	q.Next.Amount = 300
	o := payment.Offer{Preview: p}
	require.NoError(t, o.Costs(&q))
	q.Today.Amount = 1
	require.ErrorIs(t, o.Costs(&q), payment.ErrPreviewOutdated)
	o.Preview.Metered = false
	q = o.Preview
	q.Next.Amount = 300
	require.ErrorIs(t, o.Costs(&q), payment.ErrPreviewOutdated)
}
