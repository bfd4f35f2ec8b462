package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// invoice returns a customer's newest invoice.
func (g GatewayStage) invoice(t *testing.T, c payment.CustomerID) payment.Invoice {
	t.Helper()
	all, err := g.Invoices(t.Context(), c, "")
	require.That(t, err == nil && len(all) > 0, "%+v, %v", all, err)
	return all[0]
}

func gatewayRefunds(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	buy := func(t *testing.T, last4 string) (payment.CustomerID, payment.Invoice) {
		t.Helper()
		c := g.customer(t, last4)
		_, err := g.Subscribe(ctx, key(), c, payment.Order{Plan: g.Plans[0], Quantity: 1})
		require.NoError(t, err)
		return c, g.invoice(t, c)
	}
	price := g.Plans[0].Price.Amount
	t.Run("an invoice names why there is one, and its subscription", func(t *testing.T) {
		c, i := buy(t, "4242")
		s := g.only(t, c)
		assert.That(t, i.Reason == payment.SubscriptionCreate && i.Subscription == s.ID && i.AmountRemaining == 0,
			"%+v", i)
		g.Advance(t, 32*24*time.Hour)
		assert.Equal(t, "the reason of a renewal", g.invoice(t, c).Reason, payment.SubscriptionCycle)
	})
	t.Run("refunds add up", func(t *testing.T) {
		c, i := buy(t, "4242")
		require.That(t, i.AmountRefunded == 0 && !i.Refunded(), "%+v", i)
		g.Refund(t, i.ID, 100)
		assert.That(t, g.invoice(t, c).AmountRefunded == 100, "%+v", g.invoice(t, c))
		g.Refund(t, i.ID, 0)
		i = g.invoice(t, c)
		assert.That(t, i.AmountRefunded == price && i.Refunded() && i.Status == payment.Paid && i.AmountPaid == price,
			"%+v", i)
		p, err := g.Pay(ctx, key(), c, i.ID)
		assert.That(t, err == nil && p.Invoice.AmountRefunded == price, "a paid invoice: %+v, %v", p.Invoice, err)
	})
	t.Run("a refund can fail later", func(t *testing.T) {
		c, i := buy(t, "5126")
		g.Refund(t, i.ID, 0)
		assert.Equal(t, "refunded", g.invoice(t, c).AmountRefunded, price)
		g.Advance(t, 2*time.Hour)
		assert.Equal(t, "refunded after the failure", g.invoice(t, c).AmountRefunded, 0)
	})
	t.Run("a credit note reduces an open invoice, and is credit for a paid one", func(t *testing.T) {
		c, _ := g.overdue(t, "0341")
		i := g.invoice(t, c)
		left := i.AmountRemaining - 100
		g.Credit(t, i.ID, 100)
		i = g.invoice(t, c)
		assert.That(t, i.AmountRemaining == left && i.Status == payment.Open, "%+v", i)
		c, i = buy(t, "4242")
		g.Credit(t, i.ID, 100)
		w, err := g.Wallet(ctx, c)
		assert.That(t, err == nil && w.Credit.Amount == 100 && g.invoice(t, c).AmountRefunded == 0, "%+v, %v", w, err)
	})
	for name, tt := range map[string]struct {
		isInquiry, isWon bool
		status           payment.DisputeStatus
		isDisputed       bool
	}{
		"a dispute that is lost":            {false, false, payment.DisputeLost, true},
		"a dispute that is won":             {false, true, payment.DisputeWon, false},
		"an inquiry that ends":              {true, true, payment.DisputeClosed, false},
		"an inquiry that becomes a dispute": {true, false, payment.DisputeOpen, true},
	} {
		t.Run(name, func(t *testing.T) {
			c, i := buy(t, "4242")
			id := g.Dispute(t, i.ID, tt.isInquiry)
			i = g.invoice(t, c)
			require.That(t, len(i.Disputes) == 1 && i.Disputed() == !tt.isInquiry, "%+v", i.Disputes)
			d := i.Disputes[0]
			assert.That(t, d.ID == id && d.Amount == price && d.Status == payment.DisputeOpen &&
				d.Inquiry == tt.isInquiry && d.Reason != "", "%+v", d)
			g.CloseDispute(t, id, tt.isWon)
			i = g.invoice(t, c)
			assert.That(t, len(i.Disputes) == 1 && i.Disputes[0].Status == tt.status && i.Disputed() == tt.isDisputed,
				"%+v", i.Disputes)
		})
	}
	t.Run("a test card disputes its charge", func(t *testing.T) {
		_, i := buy(t, "0259")
		assert.That(t, i.Disputed(), "%+v", i)
		_, i = buy(t, "0079")
		assert.That(t, len(i.Disputes) == 2, "%+v", i)
	})
	t.Run("a charge belongs to a customer", func(t *testing.T) {
		c, err := g.CustomerOf(ctx, payment.Reference{Kind: "charge", ID: "ch_of_no_one"})
		assert.That(t, err == nil && c == "", "%q, %v", c, err)
	})
}
