package contract

import (
	"context"
	"maps"
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Subscribe is that of the gateway, with what the suite's plans say of the subscription.
func (g GatewayStage) Subscribe(
	ctx context.Context, key string, c payment.CustomerID, o payment.Order,
) (payment.GatewaySubscription, error) {
	h, err := g.Gateway.Subscribe(ctx, key, c, o)
	h.Resolve(g.Plans, "", "")
	return h, err
}

// Amend likewise.
func (g GatewayStage) Amend(
	ctx context.Context, key string, c payment.CustomerID, id payment.SubscriptionID, a payment.Amendment,
) (payment.GatewaySubscription, error) {
	h, err := g.Gateway.Amend(ctx, key, c, id, a)
	h.Resolve(g.Plans, "", "")
	return h, err
}

// Subscriptions likewise.
func (g GatewayStage) Subscriptions(ctx context.Context, c payment.CustomerID) ([]payment.GatewaySubscription, error) {
	all, err := g.Gateway.Subscriptions(ctx, c)
	for n := range all {
		all[n].Resolve(g.Plans, "", "")
	}
	return all, err
}

// mustSubscribe starts a subscription.
func (g GatewayStage) mustSubscribe(t *testing.T, c payment.CustomerID, o payment.Order) payment.GatewaySubscription {
	t.Helper()
	h, err := g.Subscribe(t.Context(), key(), c, o)
	must(t, err)
	return h
}

// mustAmend changes a subscription.
func (g GatewayStage) mustAmend(
	t *testing.T, c payment.CustomerID, id payment.SubscriptionID, a payment.Amendment,
) payment.GatewaySubscription {
	t.Helper()
	h, err := g.Amend(t.Context(), key(), c, id, a)
	must(t, err)
	return h
}

// wantPaid compares what a customer has paid so far.
func (g GatewayStage) wantPaid(t *testing.T, c payment.CustomerID, want int64) {
	t.Helper()
	sum, _ := g.paid(t, c)
	assert.Equal(t, "paid", sum, want)
}

// began returns a customer with a subscription to some units of a plan.
func (g GatewayStage) began(
	t *testing.T, plan payment.Plan, quantity int,
) (payment.CustomerID, payment.GatewaySubscription) {
	t.Helper()
	c := g.customer(t, "4242")
	return c, g.mustSubscribe(t, c, payment.Order{Plan: plan, Quantity: quantity})
}

// amend makes a change of a subscription that must be possible, twice under its key.
func (g GatewayStage) amend(
	t *testing.T, c payment.CustomerID, s payment.SubscriptionID, a payment.Amendment,
) payment.GatewaySubscription {
	t.Helper()
	k := key()
	a.Item = g.byID(t, c, s).Item
	_, err := g.Amend(t.Context(), k, c, s, a)
	must(t, err)
	_, n := g.paid(t, c)
	_, err = g.Amend(t.Context(), k, c, s, a)
	must(t, err)
	_, second := g.paid(t, c)
	assert.That(t, second == n, "%d invoices, then %d", n, second)
	return g.byID(t, c, s)
}

func (g GatewayStage) byID(t *testing.T, c payment.CustomerID, s payment.SubscriptionID) payment.GatewaySubscription {
	t.Helper()
	all, err := g.Subscriptions(t.Context(), c)
	must(t, err)
	for _, h := range all {
		if h.ID == s {
			return h
		}
	}
	t.Fatalf("no %s among %+v", s, all)
	return payment.GatewaySubscription{}
}

// wantItems compares the prices of h's items with their quantities.
func wantItems(t *testing.T, h payment.GatewaySubscription, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, i := range h.Items {
		got[i.Rate.Ref] = i.Quantity
	}
	require.That(t, maps.Equal(got, want), "items %v, want %v", got, want)
}
