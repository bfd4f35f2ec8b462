package contract

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func (g GatewayStage) checkout(plan int) payment.CheckoutOrder {
	return payment.CheckoutOrder{
		Plan: g.Plans[plan], Quantity: 2,
		SuccessURL: "https://app.example.com/yes", CancelURL: "https://app.example.com/no",
	}
}

func gatewayCheckouts(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c, k := g.customer(t), key()
	url, err := g.Checkout(ctx, k, c, g.checkout(0))
	must(t, err)
	second, err := g.Checkout(ctx, k, c, g.checkout(0))
	must(t, err)
	same(t, "the same key", second, url)
	require.That(t, g.only(t, c) == nil, "a page starts a subscription without a payer")
	require.That(t, g.CheckOut(t, url, "4242"), "the page is not open")
	h := g.only(t, c)
	require.That(t, h != nil && h.Plan == g.Plans[0].ID && h.Quantity == 2 && h.Status == payment.Active &&
		h.Key == k && h.Method != "", "%+v", h)
	g.wantPaid(t, c, 2*g.Plans[0].Price.Amount)
	t.Run("the customer's default is charged once it is set", func(t *testing.T) {
		bad := g.AddCard(t, c, "0341")
		must(t, g.SetDefault(ctx, key(), c, bad))
		g.Advance(t, h.PeriodEnd.Sub(h.PeriodStart)+time.Minute)
		same(t, "status", g.only(t, c).Status, payment.PastDue)
	})
	t.Run("pages end", func(t *testing.T) {
		c := g.customer(t)
		url, err := g.Checkout(ctx, key(), c, g.checkout(0))
		must(t, err)
		for range 2 {
			must(t, g.EndCheckouts(ctx, c))
		}
		assert.That(t, !g.CheckOut(t, url, "4242") && g.only(t, c) == nil,
			"a payer started a subscription on a page that had ended")
		url, err = g.Checkout(ctx, key(), c, g.checkout(0))
		must(t, err)
		g.Advance(t, payment.CheckoutLasts+time.Minute)
		assert.That(t, !g.CheckOut(t, url, "4242") && g.only(t, c) == nil,
			"a payer started a subscription on an old page")
	})
	t.Run("a trial", func(t *testing.T) {
		c, o := g.customer(t), g.checkout(0)
		o.TrialDays = 14
		url, err := g.Checkout(ctx, key(), c, o)
		must(t, err)
		require.That(t, g.CheckOut(t, url, "4242"), "the page is not open")
		h := g.only(t, c)
		assert.That(t, h != nil && h.Status == payment.Trialing, "%+v", h)
		g.wantPaid(t, c, 0)
	})
	t.Run("a page can leave out the payment method of a trial, which then ends without one", func(t *testing.T) {
		c, o := g.customer(t), g.checkout(0)
		o.TrialDays = 14
		always, err := g.Checkout(ctx, key(), c, o)
		must(t, err)
		assert.That(t, !g.CheckOut(t, always, ""), "a page that asks for a payment method was completed without one")
		o.Show(payment.CheckoutPage{
			PromotionCodes: true, Address: true, TaxIDs: true, IsMethodOptional: true, Locale: "de",
		}, payment.TrialRules{})
		url, err := g.Checkout(ctx, key(), c, o)
		must(t, err)
		require.That(t, g.CheckOut(t, url, ""), "the page wants a payment method")
		h := g.only(t, c)
		require.That(t, h != nil && h.Status == payment.Trialing && h.Method == "", "%+v", h)
		g.Advance(t, 15*24*time.Hour)
		h = g.only(t, c)
		assert.That(t, h == nil || !h.Status.Live(), "the trial without a payment method goes on: %+v", h)
	})
	t.Run("a payment method is asked for if something is due", func(t *testing.T) {
		c, o := g.customer(t), g.checkout(0)
		o.Show(payment.CheckoutPage{IsMethodOptional: true}, payment.TrialRules{})
		url, err := g.Checkout(ctx, key(), c, o)
		must(t, err)
		assert.That(t, !g.CheckOut(t, url, "") && g.only(t, c) == nil, "a subscription began without a payment")
		assert.That(t, g.CheckOut(t, url, "4242"), "the page takes no card")
	})
	_, err = g.Checkout(ctx, key(), "cus_never_there", g.checkout(0))
	assert.That(t, err != nil && !payment.OutcomeUnknown(err), "a customer that does not exist: %v", err)
}

func gatewayPortals(t *testing.T, g GatewayStage) {
	url, err := g.Portal(t.Context(), g.customer(t), "https://app.example.com/back")
	must(t, err)
	assert.That(t, url != "" && !strings.Contains(url, "app.example.com"), "%q", url)
	_, err = g.Portal(t.Context(), "cus_never_there", "https://app.example.com/back")
	assert.That(t, err != nil && !payment.OutcomeUnknown(err), "a customer that does not exist: %v", err)
}
