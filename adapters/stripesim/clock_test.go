package stripesim_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestEachCustomerHasAClock(t *testing.T) {
	g := newAccount(t)
	ctx := t.Context()
	var customers []payment.CustomerID
	for _, key := range []string{"ann", "ben"} {
		c, err := g.CreateCustomer(ctx, key, payment.Details{})
		require.NoError(t, err)
		card, _ := g.add(t, c, "pm_card_visa")
		require.NoError(t, g.SetDefault(ctx, key+" default", c, card))
		_, err = g.Subscribe(ctx, key+" buys", c, payment.Order{Plan: plans[0], Quantity: 1})
		require.NoError(t, err)
		customers = append(customers, c)
	}
	start, err := g.Now(ctx, customers[0])
	require.NoError(t, err)
	target := start.AddDate(0, 2, 1)
	var stops []time.Time
	for now := start; now.Before(target); {
		now, err = g.Advance(ctx, customers[0], target)
		require.NoError(t, err)
		stops = append(stops, now)
	}
	require.That(t, len(stops) == 3, "stopped at %v", stops)
	assert.That(t, stops[0].Equal(start.AddDate(0, 1, 0)) && stops[1].Equal(start.AddDate(0, 2, 0)) &&
		stops[2].Equal(target), "stopped at %v", stops)
	for n, want := range []int{3, 1} {
		invoices, err := g.Invoices(ctx, customers[n], "")
		assert.That(t, err == nil && len(invoices) == want, "customer %d has %d invoices, %v", n, len(invoices), err)
	}
	_, _, err = g.AdvanceAll(ctx, time.Hour)
	require.NoError(t, err)
	for n, want := range []time.Time{target.Add(time.Hour), start.Add(time.Hour)} {
		now, err := g.Now(ctx, customers[n])
		assert.That(t, err == nil && now.Equal(want), "customer %d: %s, %v; want %s", n, now, err, want)
	}
}
