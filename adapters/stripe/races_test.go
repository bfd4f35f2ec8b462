package stripe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripe"
	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/stripeapi"
)

// TestADowngradeKeepsAnUpgradeThatIsPaidMeanwhile has the payer authenticate the payment of an upgrade at the moment at
// which a downgrade for renewal is to discard it.
func TestADowngradeKeepsAnUpgradeThatIsPaidMeanwhile(t *testing.T) {
	ctx, api := t.Context(), stripeapi.New(t, canary, plans)
	g := stripe.New(stripe.Config{SecretKey: secret.New(canary), BaseURL: api.URL})
	c, err := g.CreateCustomer(ctx, "customer", billing.Details{Name: "Acme"})
	if err != nil {
		t.Fatal(err)
	}
	charge := func(last4 string) {
		if err := g.SetDefault(ctx, last4, c, billing.MethodID(api.AddCard(string(c), last4))); err != nil {
			t.Fatal(err)
		}
	}
	charge("4242")
	h, err := g.Subscribe(ctx, "subscribe", c, billing.Order{Plan: plans[0], Quantity: 2})
	if err != nil {
		t.Fatal(err)
	}
	charge("3155")
	h, err = g.Amend(ctx, "more", c, h.ID, billing.Amendment{Plan: plans[1], Quantity: 2, Resell: true})
	if err != nil || h.Action == nil {
		t.Fatal(h, err)
	}
	api.Provoke(func(call stripeapi.Call) (stripeapi.Fault, time.Duration) {
		if strings.HasSuffix(call.Path, "/void") {
			api.Authenticate(h.Action.ClientSecret.Reveal())
		}
		return stripeapi.None, 0
	})
	h, err = g.Amend(ctx, "less", c, h.ID,
		billing.Amendment{Plan: plans[0], Quantity: 1, Resell: true, AtRenewal: true})
	if err != nil {
		t.Fatal(err)
	}
	if p := h.Pending; h.PriceRef != plans[1].PriceRef || h.Quantity != 2 || p == nil || p.Quantity != 1 {
		t.Errorf("the upgrade that was paid is lost: %+v", h)
	}
}
