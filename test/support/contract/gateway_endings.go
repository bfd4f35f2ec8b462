package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
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
	confirmed, open, foreign := intent(c), intent(c), intent(other)
	if !g.Confirm(t, c, confirmed, "4242") {
		t.Fatal("a setup intent was not confirmed")
	}
	for range 2 { // it can be repeated
		must(t, g.CancelSetupIntents(ctx, c))
	}
	if g.Confirm(t, c, open, "4242") {
		t.Error("a cancelled setup intent was confirmed")
	}
	if !g.Confirm(t, other, foreign, "4242") {
		t.Error("another customer's setup intent was cancelled")
	}
	w, err := g.Wallet(ctx, c)
	if must(t, err); len(w.Methods) != 1 {
		t.Errorf("%d methods, want 1", len(w.Methods))
	}
}

func gatewayGivenUp(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c := g.customer(t, "3155")
	first, err := g.Subscribe(ctx, key(), c, g.order(0))
	must(t, err)
	for range 2 {
		must(t, g.GiveUp(ctx, key(), c, first.ID))
	}
	if g.only(t, c) != nil {
		t.Error("it lives still")
	}
	open := func(c payment.CustomerID) (n int) {
		t.Helper()
		all, err := g.Invoices(ctx, c)
		must(t, err)
		for _, i := range all {
			if i.Status == payment.Open {
				n++
			}
		}
		return n
	}
	same(t, "open invoices of what was given up", open(c), 0)
	ended, err := g.Subscribe(ctx, key(), c, g.order(0))
	must(t, err)
	must(t, g.Cancel(ctx, key(), c, ended.ID, payment.Cancellation{}))
	same(t, "open invoices of what never began", open(c), 0)
	paid, err := g.Subscribe(ctx, key(), c, g.order(1))
	must(t, err)
	g.Authenticate(t, c, paid.Action)
	wantErr(t, g.GiveUp(ctx, key(), c, paid.ID), payment.ErrSubscriptionExists)
	if got := g.only(t, c); got == nil || got.Status != payment.Active {
		t.Errorf("what was paid gave way: %+v", got)
	}
	t.Run("the invoice of an ended period stays open", func(t *testing.T) {
		c := g.customer(t, "4242")
		h, err := g.Subscribe(ctx, key(), c, g.order(0))
		must(t, err)
		must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "0341")))
		g.Advance(t, time.Until(h.PeriodEnd)+time.Minute)
		must(t, g.Cancel(ctx, key(), c, h.ID, payment.Cancellation{}))
		same(t, "open invoices", open(c), 1)
	})
}
