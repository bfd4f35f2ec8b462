package contract

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Elsewhere is what people do at a gateway without Atrium: in its dashboard, or on its page for the payer.
type Elsewhere struct {
	// CancelAtPeriodEnd makes a subscription end with its period.
	CancelAtPeriodEnd func(t *testing.T, c payment.CustomerID, s payment.SubscriptionID)

	// CancelAt makes a subscription end at a time.
	CancelAt func(t *testing.T, s payment.SubscriptionID, moment time.Time)

	// AddItem adds an item with one of the other prices.
	AddItem func(t *testing.T, s payment.SubscriptionID, price string, quantity int)

	// MovePrice gives the plan's item one of the other prices.
	MovePrice func(t *testing.T, s payment.SubscriptionID, price string)

	// Schedule gives the plan's item other prices, each for some periods, after the present one. Then the subscription
	// ends, or goes on.
	Schedule func(t *testing.T, s payment.SubscriptionID, prices []string, periods int, ends bool)

	// Tax sets the tax rates of a subscription and of its plan's item, and Taxes returns all of them.
	Tax   func(t *testing.T, s payment.SubscriptionID, rate, ofItem string)
	Taxes func(t *testing.T, s payment.SubscriptionID) []string

	Pause func(t *testing.T, s payment.SubscriptionID)

	// Subscribe begins a subscription to a plan.
	Subscribe func(t *testing.T, c payment.CustomerID, plan payment.Plan) payment.SubscriptionID

	// Draft creates an invoice that is not finished.
	Draft func(t *testing.T, c payment.CustomerID, amount int64) payment.InvoiceID
}

// The other prices, by month. No plan of the stage has them.
var (
	AddOn = payment.Rate{Ref: "price_addon", Price: payment.Money{Amount: 700, Currency: "usd"},
		Interval: payment.Month, IntervalCount: 1}
	OldPrice = payment.Rate{Ref: "price_old", Price: payment.Money{Amount: 500, Currency: "usd"},
		Interval: payment.Month, IntervalCount: 1}
	LaterPrice = payment.Rate{Ref: "price_later", Price: payment.Money{Amount: 3900, Currency: "usd"},
		Interval: payment.Month, IntervalCount: 1}
	OtherMeter = payment.Rate{Ref: "price_events", Price: payment.Money{Amount: 1, Currency: "usd"},
		Interval: payment.Month, IntervalCount: 1}
)

// GatewayChangedElsewhere is the suite for ports.Gateway about a subscription that someone else has changed.
func GatewayChangedElsewhere(t *testing.T, open func(*testing.T) GatewayStage) {
	for name, test := range map[string]func(*testing.T, GatewayStage){
		"an end with the period is seen, kept and undone":            elsewhereEnds,
		"an end at a later time is seen and kept":                    elsewhereLaterEnds,
		"an item besides that of the plan stays":                     elsewhereItems,
		"add-ons change, and what else there is stays":               elsewhereAddOns,
		"seats keep a price that is not sold any more":               elsewhereOldPrices,
		"a price that was never sold as a plan is no plan's":         elsewhereUnknownPrices,
		"a fixed term keeps its end":                                 elsewhereTerms,
		"later prices stay":                                          elsewhereRamps,
		"tax rates stay":                                             elsewhereTaxes,
		"a pause is seen and ended":                                  elsewherePauses,
		"of two subscriptions only one is changed":                   elsewhereTwo,
		"a draft that a person is writing is neither shown nor paid": elsewhereDrafts,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func elsewhereEnds(t *testing.T, g GatewayStage) {
	yes, negative := true, false
	type end = func(t *testing.T, c payment.CustomerID, h payment.GatewaySubscription)
	ways := map[string]end{
		"in the one field": func(t *testing.T, c payment.CustomerID, h payment.GatewaySubscription) {
			g.Elsewhere.CancelAtPeriodEnd(t, c, h.ID)
		},
		"in the other": func(t *testing.T, _ payment.CustomerID, h payment.GatewaySubscription) {
			g.Elsewhere.CancelAt(t, h.ID, h.PeriodEnd)
		},
		"in both": func(t *testing.T, c payment.CustomerID, h payment.GatewaySubscription) {
			g.Elsewhere.CancelAt(t, h.ID, h.PeriodEnd)
			g.Elsewhere.CancelAtPeriodEnd(t, c, h.ID)
		},
	}
	for name, end := range ways {
		t.Run(name, func(t *testing.T) {
			c, h := g.began(t, g.Plans[0], 2)
			end(t, c, h)
			check := func(h payment.GatewaySubscription) {
				t.Helper()
				require.That(t, h.CancelAtPeriodEnd && h.EndsAt.Equal(h.PeriodEnd), "%+v", h)
			}
			check(*g.only(t, c))
			_, err := g.Amend(t.Context(), key(), c, h.ID, g.less(1))
			wantErr(t, err, payment.ErrSubscriptionEnds)
			_, err = g.Preview(t.Context(), c, h.ID, g.less(1))
			wantErr(t, err, payment.ErrSubscriptionEnds)
			p, err := g.Preview(t.Context(), c, h.ID, payment.Amendment{ProrateAt: time.Now()})
			must(t, err)
			assert.That(t, p.Next.Amount == 0 && p.NextAt.IsZero(), "%+v", p)
			check(g.amend(t, c, h.ID, payment.Amendment{Resell: true, Plan: g.Plans[1]}))
			check(g.amend(t, c, h.ID, payment.Amendment{Resell: true, Quantity: 3}))
			check(g.amend(t, c, h.ID, payment.Amendment{CancelAtPeriodEnd: &yes}))
			got := g.amend(t, c, h.ID, payment.Amendment{CancelAtPeriodEnd: &negative})
			require.That(t, !got.CancelAtPeriodEnd && got.EndsAt.IsZero() && got.CancelAt.IsZero(), "%+v", got)
			got = g.afterRenewal(t, c, got)
			end(t, c, got)
			g.Advance(t, got.PeriodEnd.Sub(got.PeriodStart)+time.Hour)
			if got := g.only(t, c); got != nil {
				t.Errorf("it goes on: %+v", got)
			}
		})
	}
}

func elsewhereLaterEnds(t *testing.T, g GatewayStage) {
	negative := false
	c, h := g.began(t, g.Plans[0], 2)
	end := h.PeriodEnd.AddDate(0, 5, 0)
	g.Elsewhere.CancelAt(t, h.ID, end)
	for _, a := range []payment.Amendment{{Resell: true, Quantity: 3}, {Resell: true, Plan: g.Plans[1]}} {
		got := g.amend(t, c, h.ID, a)
		require.That(t, !got.CancelAtPeriodEnd && got.EndsAt.Equal(end), "%+v", got)
	}
	_, err := g.Amend(t.Context(), key(), c, h.ID, g.less(1))
	wantErr(t, err, payment.ErrSubscriptionEnds)
	assert.That(t, !strings.Contains(fmt.Sprint(err), "cancel_at_period_end"), "this does not help: %v", err)
	if got := g.amend(t, c, h.ID, payment.Amendment{CancelAtPeriodEnd: &negative}); !got.EndsAt.Equal(end) {
		t.Errorf("it was not the end of the period: %+v", got)
	}
	t.Run("within the period of another price", func(t *testing.T) {
		g.Advance(t, 10*24*time.Hour)
		p, h := g.priced(t, c, *g.only(t, c), payment.Amendment{Resell: true, Plan: g.Plans[2], Quantity: 1})
		assert.That(t, p.NextAt.IsZero() && p.Next.Amount == 0 && p.Today.Amount < g.Plans[2].Price.Amount/2, "%+v", p)
		assert.That(t, h.Plan == g.Plans[2].ID && h.EndsAt.Equal(end) && h.PeriodEnd.After(end), "%+v", h)
		g.Advance(t, end.Sub(h.PeriodStart)+time.Minute)
		got := g.only(t, c)
		assert.That(t, got == nil, "it goes on: %+v", got)
	})
}

func elsewhereItems(t *testing.T, g GatewayStage) {
	basic, pro := g.Plans[0], g.Plans[1]
	c, h := g.began(t, basic, 1)
	g.Elsewhere.AddItem(t, h.ID, AddOn.Ref, 5)
	g.Elsewhere.AddItem(t, h.ID, OtherMeter.Ref, 0)
	for range 2 { // in each order
		h = g.byID(t, c, h.ID)
		require.That(t, h.Plan == basic.ID && h.Quantity == 1, "%+v", h)
	}
	previous, _ := g.paid(t, c)
	h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Plan: pro})
	wantItems(t, h, map[string]int{AddOn.Ref: 5, OtherMeter.Ref: 0, pro.PriceRef: 1})
	current, _ := g.paid(t, c)
	same(t, "the difference", current-previous, pro.Price.Amount-basic.Price.Amount)
	h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Quantity: 6})
	wantItems(t, h, map[string]int{AddOn.Ref: 5, OtherMeter.Ref: 0, pro.PriceRef: 6})
	h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Plan: basic, Quantity: 2, AtRenewal: true})
	wantItems(t, h, map[string]int{AddOn.Ref: 5, OtherMeter.Ref: 0, pro.PriceRef: 6})
	same(t, "pending", *h.Pending, payment.PendingChange{Plan: basic.ID, Quantity: 2, At: h.PeriodEnd})
	previous, _ = g.paid(t, c)
	h = g.afterRenewal(t, c, h)
	wantItems(t, h, map[string]int{AddOn.Ref: 5, OtherMeter.Ref: 0, basic.PriceRef: 2})
	current, _ = g.paid(t, c)
	same(t, "the renewal", current-previous, 2*basic.Price.Amount+5*AddOn.Price.Amount)
	plan := g.Plans[len(g.Plans)-1]
	h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Plan: plan})
	wantItems(t, h, map[string]int{AddOn.Ref: 5, OtherMeter.Ref: 0, plan.PriceRef: 2, plan.Metered.PriceRef: 0})
	h = g.amend(t, c, h.ID, payment.Amendment{
		Resell: true, Plan: pro, AtRenewal: true, Meter: plan.Metered.PriceRef,
	})
	wantItems(t, g.afterRenewal(t, c, h), map[string]int{AddOn.Ref: 5, OtherMeter.Ref: 0, pro.PriceRef: 2})
}

func elsewhereOldPrices(t *testing.T, g GatewayStage) {
	old := g.Plans[0]
	old.PriceRef, old.Price = OldPrice.Ref, OldPrice.Price
	c, h := g.began(t, old, 2)
	same(t, "plan", h.Plan, old.ID)
	same(t, "price", h.Rate, OldPrice)
	previous, _ := g.paid(t, c)
	h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Quantity: 3})
	current, _ := g.paid(t, c)
	same(t, "one more", current-previous, OldPrice.Price.Amount)
	h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Quantity: 1, AtRenewal: true})
	h = g.afterRenewal(t, c, h)
	next, _ := g.paid(t, c)
	same(t, "fewer", next-current, OldPrice.Price.Amount)
	assert.That(t, h.Rate == OldPrice && h.Quantity == 1, "%+v", h)
	h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Plan: g.Plans[1]})
	same(t, "the price of another plan", h.Rate.Price, g.Plans[1].Price)
}

func elsewhereTerms(t *testing.T, g GatewayStage) {
	yes, negative := true, false
	plan := g.Plans[0]
	begin := func(t *testing.T) (payment.CustomerID, payment.GatewaySubscription) {
		t.Helper()
		c, h := g.began(t, plan, 3)
		g.Elsewhere.Schedule(t, h.ID, []string{plan.PriceRef}, 3, true)
		return c, g.byID(t, c, h.ID)
	}
	c, h := begin(t)
	end := h.EndsAt
	require.That(t, !h.CancelAtPeriodEnd && end.Equal(h.PeriodEnd.AddDate(0, 3, 0)) && h.Pending == nil, "%+v", h)
	check := func(h payment.GatewaySubscription, quantity int) {
		t.Helper()
		require.That(t, h.EndsAt.Equal(end) && h.Quantity == quantity, "%+v", h)
	}
	h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Quantity: 5})
	check(h, 5)
	h = g.afterRenewal(t, c, h)
	check(h, 5)
	h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Quantity: 4, AtRenewal: true})
	check(h, 5)
	h = g.afterRenewal(t, c, h)
	check(h, 4)
	check(g.amend(t, c, h.ID, g.promotedAmendment(t, c)), 4)
	check(g.amend(t, c, h.ID, payment.Amendment{Pause: &yes}), 4)
	check(g.amend(t, c, h.ID, payment.Amendment{Pause: &negative}), 4)
	h = g.afterRenewal(t, c, h)
	check(h, 4)
	assert.That(t, h.Discount != nil && h.CancelAtPeriodEnd, "%+v", h)
	p, err := g.Preview(t.Context(), c, h.ID,
		payment.Amendment{Resell: true, Quantity: 5, ProrateAt: h.PeriodStart.Add(time.Hour)})
	must(t, err)
	assert.That(t, p.NextAt.IsZero() && p.Next.Amount == 0 && p.Today.Amount > 0, "%+v", p)
	_, err = g.Amend(t.Context(), key(), c, h.ID, g.less(1))
	wantErr(t, err, payment.ErrSubscriptionEnds)
	g.Advance(t, h.PeriodEnd.Sub(h.PeriodStart)+time.Hour)
	got := g.only(t, c)
	assert.That(t, got == nil, "it goes on: %+v", got)
	t.Run("it can be cut, and be undone", func(t *testing.T) {
		c, h := begin(t)
		if h = g.amend(t, c, h.ID, payment.Amendment{CancelAtPeriodEnd: &yes}); !h.CancelAtPeriodEnd {
			t.Fatalf("%+v", h)
		}
		undo := payment.Amendment{CancelAtPeriodEnd: &negative, ProrateAt: h.PeriodStart.Add(time.Hour)}
		p, err := g.Preview(t.Context(), c, h.ID, undo)
		must(t, err)
		assert.That(t, p.Next.Amount == 3*plan.Price.Amount && p.NextAt.Equal(h.PeriodEnd) && p.Today.Amount == 0,
			"%+v", p)
		if h = g.amend(t, c, h.ID, payment.Amendment{CancelAtPeriodEnd: &negative}); !h.EndsAt.IsZero() {
			t.Fatalf("%+v", h)
		}
		g.afterRenewal(t, c, h)
	})
}

// promotedAmendment returns a change that uses a promotion code for all invoices.
func (g GatewayStage) promotedAmendment(t *testing.T, c payment.CustomerID) payment.Amendment {
	t.Helper()
	p, err := g.Promotion(t.Context(), c, "TENOFF", payment.Sale{Plan: g.Plans[0], Quantity: 1})
	must(t, err)
	return payment.Amendment{Promotion: &p}
}

func elsewhereRamps(t *testing.T, g GatewayStage) {
	pro := g.Plans[1]
	c, h := g.began(t, pro, 1)
	g.Elsewhere.Schedule(t, h.ID, []string{LaterPrice.Ref}, 2, false)
	h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Quantity: 4})
	wantItems(t, h, map[string]int{pro.PriceRef: 4})
	p := h.Pending
	assert.That(t, p != nil && p.Elsewhere && p.Quantity == 4 && p.Plan == "", "%+v", h.Pending)
	h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Quantity: 3, AtRenewal: true})
	previous, _ := g.paid(t, c)
	h = g.afterRenewal(t, c, h)
	wantItems(t, h, map[string]int{LaterPrice.Ref: 3})
	current, _ := g.paid(t, c)
	same(t, "the renewal", current-previous, 3*LaterPrice.Price.Amount)
	h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Plan: g.Plans[0], AtRenewal: true})
	h = g.afterRenewal(t, c, h)
	wantItems(t, h, map[string]int{g.Plans[0].PriceRef: 3})
	h = g.afterRenewal(t, c, h)
	wantItems(t, g.afterRenewal(t, c, h), map[string]int{g.Plans[0].PriceRef: 3})
}

func elsewhereTaxes(t *testing.T, g GatewayStage) {
	c, h := g.began(t, g.Plans[0], 2)
	g.Elsewhere.AddItem(t, h.ID, AddOn.Ref, 1)
	g.Elsewhere.Tax(t, h.ID, "txr_vat", "txr_reduced")
	want := g.Elsewhere.Taxes(t, h.ID)
	check := func(h payment.GatewaySubscription) payment.GatewaySubscription {
		t.Helper()
		same(t, "tax rates", g.Elsewhere.Taxes(t, h.ID), want)
		return h
	}
	h = check(g.amend(t, c, h.ID, payment.Amendment{Resell: true, Plan: g.Plans[1]}))
	h = check(g.amend(t, c, h.ID, payment.Amendment{Resell: true, Quantity: 3}))
	h = check(g.amend(t, c, h.ID, payment.Amendment{Resell: true, Plan: g.Plans[0], Quantity: 1, AtRenewal: true}))
	check(g.afterRenewal(t, c, h))
}

func elsewherePauses(t *testing.T, g GatewayStage) {
	negative := false
	c, h := g.began(t, g.Plans[0], 2)
	g.Elsewhere.Pause(t, h.ID)
	if h = g.byID(t, c, h.ID); !h.Paused {
		t.Fatalf("%+v", h)
	}
	if h = g.amend(t, c, h.ID, payment.Amendment{Pause: &negative}); h.Paused {
		t.Fatalf("%+v", h)
	}
	g.afterRenewal(t, c, h)
}

func elsewhereTwo(t *testing.T, g GatewayStage) {
	c, h := g.began(t, g.Plans[0], 2)
	other := g.Elsewhere.Subscribe(t, c, g.Plans[0])
	previous := g.byID(t, c, other)
	if h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Plan: g.Plans[1]}); h.Plan != g.Plans[1].ID {
		t.Errorf("%+v", h)
	}
	same(t, "the other one", g.byID(t, c, other), previous)
}

func elsewhereDrafts(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c, _ := g.began(t, g.Plans[0], 2)
	previous, _ := g.paid(t, c)
	draft := g.Elsewhere.Draft(t, c, 500000)
	all, err := g.Invoices(ctx, c, "")
	must(t, err)
	for _, i := range all {
		assert.That(t, i.ID != draft, "it is shown: %+v", i)
	}
	_, err = g.Pay(ctx, key(), c, draft)
	wantErr(t, err, payment.ErrInvoiceNotFound)
	g.wantPaid(t, c, previous)
}
