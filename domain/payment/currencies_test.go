package payment_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAPlanIsSoldInItsCurrencies(t *testing.T) {
	usd, eur := basic.Price, payment.Money{Amount: 800, Currency: "eur"}
	several := basic
	several.CurrencyOptions = []payment.Money{eur, {Amount: 130, Currency: "jpy"}}
	inEuro, err := several.PricedIn("eur")
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		plan        *payment.Plan
		currency    string
		price, base payment.Money
		err         error
	}{
		"its own":           {&several, "usd", usd, payment.Money{}, nil},
		"none":              {&several, "", usd, payment.Money{}, nil},
		"an option":         {&several, "eur", eur, usd, nil},
		"the option again":  {inEuro, "eur", eur, usd, nil},
		"another option":    {inEuro, "jpy", payment.Money{Amount: 130, Currency: "jpy"}, usd, nil},
		"back to its own":   {inEuro, "usd", usd, payment.Money{}, nil},
		"what is no option": {&several, "chf", payment.Money{}, payment.Money{}, payment.ErrPlanUnavailable},
		"without options":   {&basic, "eur", payment.Money{}, payment.Money{}, payment.ErrPlanUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := tt.plan.PricedIn(tt.currency)
			require.ErrorIs(t, err, tt.err)
			assert.That(t, err != nil || (p.Price == tt.price && p.Base == tt.base), "%+v", p)
		})
	}
}

func TestASubscriptionKeepsItsCurrency(t *testing.T) {
	low, high := basic, pro
	low.CurrencyOptions = []payment.Money{{Amount: 800, Currency: "eur"}}
	high.CurrencyOptions = []payment.Money{{Amount: 2700, Currency: "eur"}}
	sold := payment.Plans{low, high, year}
	c := customer(card("a", 1))
	request := one("basic")
	request.Currency = "eur"
	_, err := c.Subscribe(owner, now, "key", request, sold)
	require.NoError(t, err)
	same := payment.Money{Amount: 800, Currency: "eur"}
	assert.That(t, c.Pending.Sold.Price == same && c.Pending.Sold.Base == basic.Price, "%+v", c.Pending.Sold)

	paid := func() *payment.Customer {
		c := active("basic", card("a", 1))
		c.Subscription.Item.Rate = payment.Rate{
			Ref: "price_basic", Price: same, Interval: payment.Month, IntervalCount: 1,
		}
		return c
	}
	c = paid()
	_, err = c.ChangeSubscription(owner, "key", nil, to("pro"), sold)
	require.NoError(t, err)
	assert.That(t, c.Pending.Sold.Price.Amount == 2700 && !c.Pending.AtRenewal, "%+v", c.Pending)
	_, err = paid().ChangeSubscription(owner, "key", nil, to("year"), sold)
	require.ErrorIs(t, err, payment.ErrPlanUnavailable)

	page := payment.CheckoutRequest{Plan: "basic", Quantity: 1, Currency: "chf"}
	_, err = customer().StartCheckout(owner, now, page, sold)
	require.ErrorIs(t, err, payment.ErrPlanUnavailable)
	page.Currency = "eur"
	o, err := customer().StartCheckout(owner, now, page, sold)
	require.NoError(t, err)
	assert.Equal(t, "the price of a page", o.Plan.Price, same)
}
