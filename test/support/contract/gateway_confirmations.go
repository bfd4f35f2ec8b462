package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// upgrading returns a customer whose upgrade, made under a key, waits for the payer.
func (g GatewayStage) upgrading(t *testing.T, k string) (payment.CustomerID, payment.GatewaySubscription) {
	t.Helper()
	c := g.customer(t, "4242")
	previous := g.mustSubscribe(t, c, g.order(0))
	must(t, g.SetDefault(t.Context(), key(), c, g.AddCard(t, c, "3155")))
	h, err := g.Amend(t.Context(), k, c, previous.ID, g.more(2))
	must(t, err)
	require.That(t, h.Plan == previous.Plan && h.Status == payment.Active && h.PeriodEnd.Equal(previous.PeriodEnd) &&
		h.Confirming, "%+v, before %+v", h, previous)
	require.That(t, h.Action != nil && h.Action.Type == payment.ConfirmPayment && !h.Action.ClientSecret.IsZero(),
		"%+v", h.Action)
	return c, h
}

// more is an amendment that is billed now.
func (g GatewayStage) more(quantity int) payment.Amendment {
	return payment.Amendment{Plan: g.Plans[1], Quantity: quantity, Resell: true}
}

func gatewayConfirmations(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	k := key()
	c, h := g.upgrading(t, k)
	previous, _ := g.paid(t, c)
	second, err := g.Amend(ctx, k, c, h.ID, g.more(2))
	must(t, err)
	read := g.only(t, c)
	for _, got := range []*payment.GatewaySubscription{&second, read} {
		assert.That(t, got.Action != nil && got.Action.ClientSecret.Reveal() == h.Action.ClientSecret.Reveal() &&
			got.Confirming, "%+v", got)
	}
	g.Authenticate(t, c, h.Action)
	got := g.only(t, c)
	require.That(t, got.ID == h.ID && got.Plan == g.Plans[1].ID && got.Status == payment.Active && !got.Confirming &&
		got.Action == nil, "%+v", got)
	sum, n := g.paid(t, c)
	assert.That(t, sum > previous && n == 2, "paid %d, then %d by %d invoices", previous, sum, n)
	must(t, func() error { _, err := g.Amend(ctx, k, c, h.ID, g.more(2)); return err }())
	_, n = g.paid(t, c)
	assert.Equal(t, "invoices", n, 2)
	t.Run("an add-on waits for the payer, too", func(t *testing.T) {
		c := g.customer(t, "4242")
		h := g.mustSubscribe(t, c, g.order(0))
		must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "3155")))
		change, err := g.Amend(ctx, key(), c, h.ID, addOnOrder(h, 2))
		must(t, err)
		require.That(t, change.Confirming && change.Action != nil && len(change.Items) == len(h.Items), "%+v", change)
		g.Authenticate(t, c, change.Action)
		wantItems(t, *g.only(t, c), map[string]int{AddOn.Ref: 2, h.Rate.Ref: h.Quantity})
	})
	t.Run("a scheduled change stays, and the upgrade is declined", func(t *testing.T) {
		c := g.customer(t, "4242")
		o := g.order(0)
		o.Quantity = 5
		h := g.mustSubscribe(t, c, o)
		h = g.mustAmend(t, c, h.ID, g.less(3))
		must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "3155")))
		_, err := g.Amend(ctx, key(), c, h.ID, g.more(5))
		wantDecline(t, err, "authentication_required")
		same(t, "the subscription", *g.only(t, c), h)
	})
}

func gatewayLapses(t *testing.T, g GatewayStage) {
	ctx := t.Context()
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
	t.Run("after 23 hours", func(t *testing.T) {
		c, h := g.upgrading(t, key())
		g.Advance(t, 24*time.Hour)
		if got := g.only(t, c); got.Confirming || got.Action != nil || got.Plan != h.Plan || open(c) != 0 {
			t.Errorf("%+v, %d open", got, open(c))
		}
	})
	t.Run("with another change", func(t *testing.T) {
		c, h := g.upgrading(t, key())
		second := g.mustAmend(t, c, h.ID, g.more(3))
		if !second.Confirming || second.Action.ClientSecret.Reveal() == h.Action.ClientSecret.Reveal() || open(c) != 1 {
			t.Fatalf("%+v, %d open", second, open(c))
		}
		g.Authenticate(t, c, second.Action)
		got := g.only(t, c)
		assert.That(t, got.Quantity == 3 && open(c) == 0, "%+v", got)
	})
	t.Run("with the end of the subscription", func(t *testing.T) {
		c, h := g.upgrading(t, key())
		yes := true
		got := g.mustAmend(t, c, h.ID, payment.Amendment{CancelAtPeriodEnd: &yes})
		if got.Confirming || !got.CancelAtPeriodEnd || open(c) != 0 {
			t.Errorf("%+v, %d open", got, open(c))
		}
		c, h = g.upgrading(t, key())
		must(t, g.Cancel(ctx, key(), c, h.ID, payment.Cancellation{}))
		same(t, "open invoices", open(c), 0)
	})
}

func gatewayCredits(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c := g.customer(t, "4242")
	h := g.mustSubscribe(t, c, payment.Order{Plan: g.Plans[1], Quantity: 2})
	previous, _ := g.paid(t, c)
	h = g.mustAmend(t, c, h.ID, payment.Amendment{Plan: g.Plans[0], Quantity: 1, Resell: true})
	w, err := g.Wallet(ctx, c)
	must(t, err)
	remainder := 2*g.Plans[1].Price.Amount - g.Plans[0].Price.Amount
	require.That(t, w.Credit.Currency == g.Plans[0].Price.Currency && w.Credit.Amount > remainder*9/10 &&
		w.Credit.Amount <= remainder, "credit %+v, want about %d", w.Credit, remainder)
	g.Advance(t, time.Until(h.PeriodEnd)+time.Minute)
	g.wantPaid(t, c, previous)
	i := g.newest(t, c, payment.Paid)
	assert.That(t, i.Total == g.Plans[0].Price.Amount && i.AmountDue == 0 && i.AmountPaid == 0, "%+v", i)
	current, err := g.Wallet(ctx, c)
	must(t, err)
	same(t, "credit", current.Credit.Amount, w.Credit.Amount-g.Plans[0].Price.Amount)
}
