package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func gatewayCurrencies(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	in := func(plan int, currency string) payment.Plan {
		p, err := g.Plans[plan].PricedIn(currency)
		require.NoError(t, err)
		return *p
	}
	t.Run("a plan is available if its options are the gateway's", func(t *testing.T) {
		other := g.Plans[0]
		other.CurrencyOptions = []payment.Money{{Amount: 1, Currency: "eur"}}
		strange := g.Plans[0]
		strange.CurrencyOptions = []payment.Money{{Amount: 1, Currency: "chf"}}
		all, err := g.Prices(ctx, payment.Plans{g.Plans[0], other, strange})
		must(t, err)
		assert.That(t, !all[0].Unavailable && all[1].Unavailable && all[2].Unavailable, "%+v", all)
	})
	price := payment.Money{Amount: 800, Currency: "eur"}
	t.Run("a subscription has its currency, in its invoices, previews and changes", func(t *testing.T) {
		c := g.customer(t, "4242")
		h := g.mustSubscribe(t, c, payment.Order{Plan: in(0, "eur"), Quantity: 2})
		read := g.only(t, c)
		for name, got := range map[string]payment.GatewaySubscription{"at first": h, "read again": *read} {
			same(t, "the rate "+name, got.Items[0].Rate.Price, price)
		}
		invoices, err := g.Invoices(ctx, c, "")
		must(t, err)
		assert.That(t, len(invoices) == 1 && invoices[0].Currency == "eur" && invoices[0].AmountPaid == 1600,
			"%+v", invoices)
		a := payment.Amendment{Plan: in(1, "eur"), Quantity: 2, Resell: true, ProrateAt: h.PeriodStart}
		p, err := g.Preview(ctx, c, h.ID, a)
		must(t, err)
		same(t, "today", p.Today, payment.Money{Amount: 2 * (2700 - 800), Currency: "eur"})
		same(t, "the next period", p.Next, payment.Money{Amount: 2 * 2700, Currency: "eur"})
		a.ProrateAt = time.Time{}
		g.mustAmend(t, c, h.ID, a)
		same(t, "the rate of the new plan", g.only(t, c).Items[0].Rate.Price,
			payment.Money{Amount: 2700, Currency: "eur"})
		g.Advance(t, 32*24*time.Hour)
		invoices, err = g.Invoices(ctx, c, "")
		must(t, err)
		assert.That(t, invoices[0].AmountPaid == 2*2700 && invoices[0].Currency == "eur", "%+v", invoices[0])
	})
	t.Run("a page sells in a currency", func(t *testing.T) {
		c, o := g.customer(t), g.checkout(0)
		o.Plan = in(0, "eur")
		url, err := g.Checkout(ctx, key(), c, o)
		must(t, err)
		require.That(t, g.CheckOut(t, url, "4242"), "the page is not open")
		same(t, "the rate", g.only(t, c).Items[0].Rate.Price, price)
	})
}
