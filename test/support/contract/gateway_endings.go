package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func gatewayIntents(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c, other := g.customer(t), g.customer(t)
	intent := func(c payment.CustomerID) payment.SetupIntent {
		t.Helper()
		i, err := g.CreateSetupIntent(ctx, key(), c, payment.OffSession)
		must(t, err)
		return i
	}
	confirmedIntent, open, foreign := intent(c), intent(c), intent(other)
	require.That(t, g.Confirm(t, c, confirmedIntent, "4242"), "a setup intent was not confirmed")
	for range 2 { // it can be repeated
		must(t, g.CancelSetupIntents(ctx, c))
	}
	assert.That(t, !g.Confirm(t, c, open, "4242"), "a cancelled setup intent was confirmed")
	assert.That(t, g.Confirm(t, other, foreign, "4242"), "another customer's setup intent was cancelled")
	w, err := g.Wallet(ctx, c)
	must(t, err)
	assert.Equal(t, "methods", len(w.Methods), 1)
}

func gatewayGivenUp(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c := g.customer(t, "3155")
	first := g.mustSubscribe(t, c, g.order(0))
	for range 2 {
		must(t, g.GiveUp(ctx, key(), c, first.ID))
	}
	assert.That(t, g.only(t, c) == nil, "it lives still")
	open := func(c payment.CustomerID) (n int) {
		t.Helper()
		all, err := g.Invoices(ctx, c, "")
		must(t, err)
		for _, i := range all {
			if i.Status == payment.Open {
				n++
			}
		}
		return n
	}
	same(t, "open invoices of what was given up", open(c), 0)
	endedSubscription := g.mustSubscribe(t, c, g.order(0))
	must(t, g.Cancel(ctx, key(), c, endedSubscription.ID, payment.Cancellation{}))
	same(t, "open invoices of what never began", open(c), 0)
	paid := g.mustSubscribe(t, c, g.order(1))
	g.Authenticate(t, c, paid.Action)
	wantErr(t, g.GiveUp(ctx, key(), c, paid.ID), payment.ErrSubscriptionExists)
	got := g.only(t, c)
	assert.That(t, got != nil && got.Status == payment.Active, "what was paid gave way: %+v", got)
	t.Run("the invoice for a period that has ended early can no longer be paid", func(t *testing.T) {
		c := g.customer(t, "4242")
		h := g.mustSubscribe(t, c, g.order(0))
		must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "0341")))
		g.Advance(t, time.Until(h.PeriodEnd)+time.Minute)
		renewal := g.newest(t, c, payment.Open)
		same(t, "the invoice's subscription", renewal.Subscription, h.ID)
		for range 2 { // the first response may have been lost
			must(t, g.Cancel(ctx, key(), c, h.ID, payment.Cancellation{}))
			same(t, "open invoices", open(c), 0)
		}
		_, err := g.Pay(ctx, key(), c, renewal.ID)
		wantErr(t, err, payment.ErrInvoiceNotPayable)
	})
	t.Run("nor can the drafts of an unpaid subscription", func(t *testing.T) {
		c, h := g.overdue(t, "0341")
		g.Advance(t, 14*24*time.Hour)
		g.Advance(t, h.PeriodEnd.Sub(h.PeriodStart)-13*24*time.Hour)
		draft := g.newest(t, c, payment.Draft)
		must(t, g.Cancel(ctx, key(), c, h.ID, payment.Cancellation{}))
		same(t, "open invoices", open(c), 0)
		_, err := g.Pay(ctx, key(), c, draft.ID)
		wantErr(t, err, payment.ErrInvoiceNotPayable)
	})
}
