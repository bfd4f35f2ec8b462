package contract

import (
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Pack is a credit pack that the gateway sells.
var Pack = payment.Plan{ID: "pack", PriceRef: "price_pack", Price: payment.Money{Amount: 500, Currency: "usd"},
	Limits: map[string]int64{"messages": 10}, ExpiresAfter: 30}

// packOrder asks for two of them, charged to a customer's default.
func (g GatewayStage) packOrder(t *testing.T, c payment.CustomerID) payment.PackOrder {
	t.Helper()
	w, err := g.Wallet(t.Context(), c)
	must(t, err)
	return payment.PackOrder{Pack: Pack, Quantity: 2, Method: w.Default}
}

// wantPacks compares the only invoice of a customer with a sale of two packs under key.
func (g GatewayStage) wantPacks(t *testing.T, c payment.CustomerID, key string, status payment.InvoiceStatus) {
	t.Helper()
	all, err := g.Invoices(t.Context(), c, "")
	require.That(t, err == nil && len(all) == 1, "%+v, %v", all, err)
	i := all[0]
	require.That(t, i.Pack != nil && i.Status == status && i.Total == 1000 && i.Subscription == "", "%+v", i)
	assert.That(t, i.Pack.Pack == "pack" && i.Pack.Quantity == 2 && i.Pack.Limits["messages"] == 10 &&
		i.Pack.Days == 30 && i.Pack.Key == key, "%+v", i.Pack)
	assert.That(t, (len(i.Credits()) == 1) == (status == payment.Paid), "credits %+v", i.Credits())
}

func gatewayPacks(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	t.Run("only a price that is charged once is one of a credit pack", func(t *testing.T) {
		pack, plan := Pack, g.Plans[0]
		pack.PriceRef, pack.Price = plan.PriceRef, plan.Price
		plan.PriceRef, plan.Price, plan.CurrencyOptions = Pack.PriceRef, Pack.Price, nil
		got, err := g.Prices(ctx, payment.Plans{Pack, pack, plan})
		must(t, err)
		assert.That(t, !got[0].Unavailable && got[1].Unavailable && got[2].Unavailable, "%+v", got)
		_, err = g.Gateway.Subscribe(ctx, key(), g.customer(t, "4242"), payment.Order{Plan: plan, Quantity: 1})
		assert.That(t, err != nil && !payment.OutcomeUnknown(err), "a subscription at such a price: %v", err)
		_, err = g.Buy(ctx, key(), g.customer(t, "4242"), payment.PackOrder{Pack: pack, Quantity: 1})
		assert.That(t, err != nil && !payment.OutcomeUnknown(err), "a credit pack at a recurring price: %v", err)
	})
	t.Run("they are paid once per key", func(t *testing.T) {
		c, k := g.customer(t, "4242"), key()
		for range 2 {
			p, err := g.Buy(ctx, k, c, g.packOrder(t, c))
			require.That(t, err == nil && p.Invoice.Status == payment.Paid && p.Action == nil, "%+v, %v", p, err)
		}
		g.wantPacks(t, c, k, payment.Paid)
		g.wantPaid(t, c, 1000)
		_, err := g.Buy(ctx, k, c, payment.PackOrder{Pack: Pack, Quantity: 3})
		assert.That(t, err != nil, "another order under the key")
		g.wantPaid(t, c, 1000)
	})
	t.Run("a call whose response was lost can be repeated", func(t *testing.T) {
		c, k := g.customer(t, "4242"), key()
		o := g.packOrder(t, c)
		g.Lose(1)
		_, err := g.Buy(ctx, k, c, o)
		assert.That(t, payment.OutcomeUnknown(err), "%v", err)
		_, err = g.Buy(ctx, k, c, o)
		must(t, err)
		g.wantPacks(t, c, k, payment.Paid)
		g.wantPaid(t, c, 1000)
	})
	t.Run("what was declined cannot be paid later", func(t *testing.T) {
		c, k := g.customer(t, "0341"), key()
		for range 2 {
			_, err := g.Buy(ctx, k, c, g.packOrder(t, c))
			wantDecline(t, err, "generic_decline")
		}
		g.wantPacks(t, c, k, payment.Void)
		all, err := g.Invoices(ctx, c, "")
		must(t, err)
		_, err = g.Pay(ctx, key(), c, all[0].ID)
		wantErr(t, err, payment.ErrInvoiceNotPayable)
	})
	t.Run("a payment that requires authentication waits for the payer", func(t *testing.T) {
		c, k := g.customer(t, "3155"), key()
		p, err := g.Buy(ctx, k, c, g.packOrder(t, c))
		require.That(t, err == nil && p.Action != nil && p.Invoice.Status == payment.Open, "%+v, %v", p, err)
		g.wantPacks(t, c, k, payment.Open)
		g.Authenticate(t, c, p.Action)
		g.wantPacks(t, c, k, payment.Paid)
	})
	t.Run("the payer buys them on a page, and needs no subscription", func(t *testing.T) {
		c, k := g.customer(t), key()
		url, err := g.Checkout(ctx, k, c, payment.CheckoutOrder{Plan: Pack, Quantity: 2,
			SuccessURL: "https://app.example.com/a", CancelURL: "https://app.example.com/b",
			CheckoutPage: payment.CheckoutPage{PromotionCodes: true, Address: true, TaxIDs: true, Locale: "de"}})
		must(t, err)
		all, err := g.Invoices(ctx, c, "")
		require.That(t, err == nil && len(all) == 0, "before the payment: %+v, %v", all, err)
		assert.That(t, !g.CheckOut(t, url, "0341"), "a declined card pays")
		require.That(t, g.CheckOut(t, url, "4242"), "the page is not open")
		g.wantPacks(t, c, k, payment.Paid)
		g.wantPaid(t, c, 1000)
		assert.That(t, g.only(t, c) == nil, "there is a subscription")
	})
	t.Run("an order of an unknown customer is refused", func(t *testing.T) {
		_, err := g.Buy(ctx, key(), "cus_never_there", payment.PackOrder{Pack: Pack, Quantity: 1})
		assert.That(t, err != nil && !payment.OutcomeUnknown(err) && !errors.Is(err, payment.ErrCardDeclined), "%v",
			err)
	})
}
