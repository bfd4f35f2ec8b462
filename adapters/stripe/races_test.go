package stripe_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripe"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

func TestACustomerIsFoundWhoseCreationGotAStoredFailure(t *testing.T) {
	ctx, api := t.Context(), stripeapi.New(t, canary, plans)
	g := stripe.New(stripe.Config{SecretKey: secret.New(canary), BaseURL: api.URL})
	other, err := g.CreateCustomer(ctx, "other", payment.Details{Name: "Acme"})
	require.NoError(t, err)
	api.Provoke(func(call stripeapi.Call) (stripeapi.Fault, time.Duration) {
		if call.Changes() {
			return stripeapi.FailedAfter, 0
		}
		return stripeapi.None, 0
	})
	for range 2 { // the second answer is a stored one
		c, err := g.CreateCustomer(ctx, "customer", payment.Details{Name: "Acme"})
		require.NoError(t, err)
		assert.That(t, c != "" && c != other, "the customer is %q", c)
	}
	assert.Equal(t, "customers", api.Customers(), 2)
}

// TestADowngradeKeepsAnUpgradeThatIsPaidMeanwhile has the payer authenticate the payment of an upgrade at the moment at
// which a downgrade for renewal is to discard it.
func TestADowngradeKeepsAnUpgradeThatIsPaidMeanwhile(t *testing.T) {
	ctx, api := t.Context(), stripeapi.New(t, canary, plans)
	g := stripe.New(stripe.Config{SecretKey: secret.New(canary), BaseURL: api.URL})
	c, err := g.CreateCustomer(ctx, "customer", payment.Details{Name: "Acme"})
	require.NoError(t, err)
	charge := func(last4 string) {
		require.NoError(t, g.SetDefault(ctx, last4, c, payment.MethodID(api.AddCard(string(c), last4))))
	}
	charge("4242")
	h, err := g.Subscribe(ctx, "subscribe", c, payment.Order{Plan: plans[0], Quantity: 2})
	require.NoError(t, err)
	charge("3155")
	h, err = g.Amend(ctx, "more", c, h.ID, payment.Amendment{Plan: plans[1], Quantity: 2, Resell: true})
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
		payment.Amendment{Plan: plans[0], Quantity: 1, Resell: true, AtRenewal: true})
	require.NoError(t, err)
	h.Resolve(plans, "", "")
	if p := h.Pending; h.Rate.Ref != plans[1].PriceRef || h.Quantity != 2 || p == nil || p.Quantity != 1 {
		t.Errorf("the upgrade that was paid is lost: %+v", h)
	}
}

// TestAScheduledChangeOutlivesADeclineWhoseCallsGetNoResponse has an upgrade declined while a downgrade is scheduled,
// and loses each of the calls by which the downgrade is scheduled again.
func TestAScheduledChangeOutlivesADeclineWhoseCallsGetNoResponse(t *testing.T) {
	ctx := t.Context()
	const subscriptions, schedules = "/v1/subscriptions/", "/v1/subscription_schedules"
	for name, concerns := range map[string]func(path string) bool{
		"the change": func(path string) bool { return strings.HasPrefix(path, subscriptions) },
	} {
		for _, fault := range []stripeapi.Fault{stripeapi.Dropped, stripeapi.Lost} {
			t.Run(fmt.Sprint(name, " ", fault), func(t *testing.T) {
				api := stripeapi.New(t, canary, plans)
				g := stripe.New(stripe.Config{SecretKey: secret.New(canary), BaseURL: api.URL})
				c, err := g.CreateCustomer(ctx, "customer", payment.Details{Name: "Acme"})
				require.NoError(t, err)
				require.NoError(t, g.SetDefault(ctx, "works", c, payment.MethodID(api.AddCard(string(c), "4242"))))
				h, err := g.Subscribe(ctx, "subscribe", c, payment.Order{Plan: plans[1], Quantity: 5})
				require.NoError(t, err)
				h, err = g.Amend(ctx, "less", c, h.ID,
					payment.Amendment{Plan: plans[0], Quantity: 3, Resell: true, AtRenewal: true})
				require.NoError(t, err)
				require.NoError(t, g.SetDefault(ctx, "fails", c, payment.MethodID(api.AddCard(string(c), "0341"))))
				lost := false
				api.Provoke(func(call stripeapi.Call) (stripeapi.Fault, time.Duration) {
					if lost || !call.Changes() || !concerns(call.Path) {
						return stripeapi.None, 0
					}
					lost = true
					return fault, 0
				})
				upper := payment.Amendment{Plan: plans[1], Quantity: 6, Resell: true}
				for range 3 {
					if _, err = g.Amend(ctx, "more", c, h.ID, upper); errors.Is(err, payment.ErrCardDeclined) {
						break
					}
				}
				askedCounts := api.Asked()
				assert.That(t, askedCounts["POST "+schedules+"/{id}/release"] <= 0, "it was released: %v", askedCounts)
				assert.That(t, lost && errors.Is(err, payment.ErrCardDeclined), "lost: %t; %v", lost, err)
				all, err := g.Subscriptions(ctx, c)
				require.NoError(t, err)
				all[0].Resolve(plans, "", "")
				p := all[0].Pending
				assert.That(t, p != nil && p.Plan == "basic" && p.Quantity == 3, "the scheduled change is %+v", p)
			})
		}
	}
}
