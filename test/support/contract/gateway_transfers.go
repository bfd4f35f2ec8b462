package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func gatewayTransfers(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	o := g.order(0)
	o.Plan.DaysUntilDue = 10
	open := func(t *testing.T, c payment.CustomerID) (all []payment.Invoice) {
		t.Helper()
		invoices, err := g.Invoices(ctx, c, "")
		must(t, err)
		for _, i := range invoices {
			if i.Status == payment.Open {
				all = append(all, i)
			}
		}
		return all
	}
	c := g.customer(t)
	h := g.mustSubscribe(t, c, o)
	invoices := open(t, c)
	require.That(t, h.Status == payment.Active && h.Action == nil && len(invoices) == 1, "%+v, %+v", h, invoices)
	same(t, "due", invoices[0].DueAt.Sub(invoices[0].CreatedAt), 10*24*time.Hour)
	g.Advance(t, 9*24*time.Hour)
	same(t, "the status before it is due", g.only(t, c).Status, payment.Active)
	g.Advance(t, 2*24*time.Hour)
	same(t, "the status when it is due", g.only(t, c).Status, payment.PastDue)
	t.Run("a card can pay, too", func(t *testing.T) {
		must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "4242")))
		_, err := g.Pay(ctx, key(), c, invoices[0].ID)
		must(t, err)
		same(t, "the status when it is paid", g.only(t, c).Status, payment.Active)
		g.wantPaid(t, c, 2*g.Plans[0].Price.Amount)
	})
	t.Run("a renewal is not charged to the card", func(t *testing.T) {
		g.Advance(t, 21*24*time.Hour)
		g.wantPaid(t, c, 2*g.Plans[0].Price.Amount)
		assert.That(t, g.only(t, c).Status == payment.Active && len(open(t, c)) == 1, "%+v", g.only(t, c))
	})
	t.Run("the invoice of a subscription that is ended stays open", func(t *testing.T) {
		must(t, g.Cancel(ctx, key(), c, h.ID, payment.Cancellation{}))
		assert.That(t, g.only(t, c) == nil && len(open(t, c)) == 1, "%+v", open(t, c))
	})
	t.Run("more units have an invoice of their own", func(t *testing.T) {
		c := g.customer(t)
		h := g.mustSubscribe(t, c, o)
		g.mustAmend(t, c, h.ID, payment.Amendment{Quantity: 3, Resell: true})
		assert.That(t, g.only(t, c).Quantity == 3 && len(open(t, c)) == 2, "%+v", g.only(t, c))
	})
	t.Run("a trial is followed by an invoice", func(t *testing.T) {
		c, o := g.customer(t), o
		o.TrialDays = 14
		h := g.mustSubscribe(t, c, o)
		assert.That(t, h.Status == payment.Trialing && h.Action == nil, "%+v", h)
		g.Advance(t, 15*24*time.Hour)
		assert.That(t, g.only(t, c).Status == payment.Active && len(open(t, c)) == 1, "%+v", g.only(t, c))
	})
}
