package stripesim_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripesim"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// atMarch returns a gateway whose clock stands on the first of March until it is advanced, and a customer with a card.
func atMarch(t *testing.T) (gateway, payment.CustomerID) {
	t.Helper()
	clock := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	g, p := newGateway(t, stripesim.Config{Clock: clock})
	p.closed = true
	c, err := g.CreateCustomer(t.Context(), "customer", payment.Details{Name: "Acme"})
	require.NoError(t, err)
	require.NoError(t, g.SetDefault(t.Context(), "default", c, addCard(t, g, c, "4242")))
	return g, c
}

func TestAMonthThatFollowsAWeekIsWhole(t *testing.T) {
	g, c := atMarch(t)
	week := plans[len(plans)-2]
	h, err := g.Subscribe(t.Context(), "subscribe", c, payment.Order{Plan: week, Quantity: 1})
	require.NoError(t, err)
	_, err = g.Amend(t.Context(), "less", c, h.ID, payment.Amendment{Plan: plans[0], Quantity: 1, Resell: true,
		AtRenewal: true})
	require.NoError(t, err)
	_, _, err = g.AdvanceAll(t.Context(), 7*24*time.Hour)
	require.NoError(t, err)
	all, err := g.Subscriptions(t.Context(), c)
	require.NoError(t, err)
	if want := h.Items[0].PeriodEnd.AddDate(0, 1, 0); all[0].Plan != "basic" || !all[0].Items[0].PeriodEnd.Equal(want) {
		t.Errorf("%s ends at %s, want %s", all[0].Plan, all[0].Items[0].PeriodEnd, want)
	}
}

func TestTheUnusedRestOfATaxedPeriodIsCreditedWithItsTax(t *testing.T) {
	g, c := atMarch(t)
	require.NoError(t, g.UpdateCustomer(t.Context(), "details", c, payment.Details{
		Name: "Acme", Address: payment.Address{Country: "DE"},
	}))
	h, err := g.Subscribe(t.Context(), "subscribe", c, payment.Order{Plan: plans[1], Quantity: 1, AutomaticTax: true})
	require.NoError(t, err)
	_, err = g.Amend(t.Context(), "less", c, h.ID, payment.Amendment{Plan: plans[0], Quantity: 1, Resell: true})
	require.NoError(t, err)
	w, err := g.Wallet(t.Context(), c)
	require.NoError(t, err)
	want := (plans[1].Price.Amount - plans[0].Price.Amount) * 120 / 100
	assert.Equal(t, "credit", w.Credit.Amount, want)
}
