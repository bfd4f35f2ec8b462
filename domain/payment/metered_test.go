package payment_test

import (
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/payment"
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
		"active":            {subscribed("metered", payment.Active), "messages", true},
		"past due":          {subscribed("metered", payment.PastDue), "messages", true},
		"on trial":          {subscribed("metered", payment.Trialing), "messages", false},
		"incomplete":        {subscribed("metered", payment.Incomplete), "messages", false},
		"another feature":   {subscribed("metered", payment.Active), "tokens", false},
		"another plan":      {subscribed("basic", payment.Active), "messages", false},
		"no plan any more":  {subscribed("other", payment.Active), "messages", false},
		"no subscription":   {customer(), "messages", false},
		"the plan with pro": {subscribed("metered-pro", payment.Active), "messages", true},
	} {
		if m := byUsage.Metering(tt.c.Subscription, tt.feature); (m != nil) != tt.billed {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if !byUsage.Reportable()["messages"] {
		t.Error("a feature that is billed cannot be reported")
	}
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
			if wantErr(t, err, nil); c.Pending.AtRenewal != tt.waits {
				t.Errorf("%s, references %s: %+v", name, references, c.Pending)
			}
		}
	}
	yes := true
	_, err := subscribed("metered", payment.Active).ChangeSubscription(owner, "k", nil, payment.Changes{Pause: &yes},
		byUsage)
	wantErr(t, err, fault.ErrInvalid)
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
	repriced := messages
	repriced.Metered = &payment.MeteredPrice{Feature: "messages", Amount: 20, PriceRef: "price_dearer"}
	for name, configured := range map[string]payment.Plans{
		"another price": append(payment.Plans{repriced}, plans...), "no such plan": plans,
	} {
		for when, before := range map[string]payment.Plans{"seen before": byUsage, "seen only now": configured} {
			c := subscribed("metered", payment.Active)
			seen := []payment.GatewaySubscription{holding("metered", item("price_metered", 900, 1), meter)}
			seeSubscriptions(c, owner, seen, before)
			seeSubscriptions(c, owner, seen, configured)
			pro := payment.PlanID("pro")
			_, err := c.ChangeSubscription(owner, "k", nil, payment.Changes{Plan: &pro}, configured)
			wantErr(t, err, nil)
			if c.Pending.Meter != "price_messages" || !c.Pending.AtRenewal {
				t.Errorf("%s, %s: %+v", name, when, c.Pending)
			}
		}
	}
	c := subscribed("basic", payment.Active)
	seen := []payment.GatewaySubscription{holding("basic", item("price_basic", 900, 1), meter)}
	seeSubscriptions(c, owner, seen, plans)
	if got := c.Subscription.Item.Meter; got != "" {
		t.Errorf("a metered item that someone else added is taken for that of the plan: %q", got)
	}
}

func TestWhenUsageIsSent(t *testing.T) {
	c := customer()
	e := payment.UsageEvent{Customer: c.ID, At: now}
	tried := e
	tried.TriedAt = now
	for name, tt := range map[string]struct {
		e     payment.UsageEvent
		after time.Duration
		want  bool
	}{
		"at once":                         {e, 0, true},
		"after 33 days":                   {e, 33 * 24 * time.Hour, true},
		"after 34 days":                   {e, 34 * 24 * time.Hour, false},
		"again within a day":              {tried, 22 * time.Hour, true},
		"again after a day":               {tried, 23 * time.Hour, false},
		"for a customer that was deleted": {payment.UsageEvent{Customer: "cus_old", At: now}, 0, false},
	} {
		if moment := now.Add(tt.after); tt.e.Sendable(moment, moment, c) != tt.want {
			t.Errorf("%s: %t", name, !tt.want)
		}
	}
	c.LoseUsage(owner, &e)
	if recorded(&c.Log) != "usage.not_billed " {
		t.Error(recorded(&c.Log))
	}
}

func TestAPreviewWithUsage(t *testing.T) {
	p := payment.Preview{At: now, Metered: true, Next: payment.Money{Amount: 100, Currency: "usd"}}
	q := p
	q.Next.Amount = 300
	o := payment.Offer{Preview: p}
	wantErr(t, o.Costs(&q), nil)
	q.Today.Amount = 1
	wantErr(t, o.Costs(&q), payment.ErrPreviewOutdated)
	o.Preview.Metered = false
	q = o.Preview
	q.Next.Amount = 300
	wantErr(t, o.Costs(&q), payment.ErrPreviewOutdated)
}
