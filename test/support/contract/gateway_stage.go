package contract

import (
	"context"
	"maps"
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
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

// began returns a customer with a subscription to some units of a plan.
func (g GatewayStage) began(
	t *testing.T, plan payment.Plan, quantity int,
) (payment.CustomerID, payment.GatewaySubscription) {
	t.Helper()
	c := g.customer(t, "4242")
	h, err := g.Subscribe(t.Context(), key(), c, payment.Order{Plan: plan, Quantity: quantity})
	must(t, err)
	return c, h
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
	if _, again := g.paid(t, c); again != n {
		t.Errorf("%d invoices, then %d", n, again)
	}
	return g.byID(t, c, s)
}

func (g GatewayStage) byID(
	t *testing.T, c payment.CustomerID, s payment.SubscriptionID,
) payment.GatewaySubscription {
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
	if !maps.Equal(got, want) {
		t.Fatalf("items %v, want %v", got, want)
	}
}
