package stripe_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/atrium-hq/atrium/adapters/stripe"
	"github.com/atrium-hq/atrium/domain/payment"
)

// TestASuccessWithoutAnObjectLeavesTheOutcomeUnknown has responses that the library takes for an object without any
// values, or with an id only.
func TestASuccessWithoutAnObjectLeavesTheOutcomeUnknown(t *testing.T) {
	page := payment.CheckoutOrder{Plan: plan, Quantity: 1}
	calls := map[string]func(context.Context, *stripe.Gateway) error{
		"CreateCustomer": func(ctx context.Context, g *stripe.Gateway) error {
			_, err := g.CreateCustomer(ctx, "k", payment.Details{})
			return err
		},
		"CreateSetupIntent": func(ctx context.Context, g *stripe.Gateway) error {
			_, err := g.CreateSetupIntent(ctx, "k", "cus_1", payment.OffSession)
			return err
		},
		"Wallet": func(ctx context.Context, g *stripe.Gateway) error {
			_, err := g.Wallet(ctx, "cus_1")
			return err
		},
		"SetDefault": func(ctx context.Context, g *stripe.Gateway) error {
			return g.SetDefault(ctx, "k", "cus_1", "pm_1")
		},
		"Detach": func(ctx context.Context, g *stripe.Gateway) error { return g.Detach(ctx, "k", "cus_1", "pm_1") },
		"Subscribe": func(ctx context.Context, g *stripe.Gateway) error {
			_, err := g.Subscribe(ctx, "k", "cus_1", payment.Order{Plan: plan, Quantity: 1})
			return err
		},
		"Subscriptions": func(ctx context.Context, g *stripe.Gateway) error {
			_, err := g.Subscriptions(ctx, "cus_1")
			return err
		},
		"Amend": func(ctx context.Context, g *stripe.Gateway) error {
			_, err := g.Amend(ctx, "k", "cus_1", "sub_1", payment.Amendment{Plan: plan, Quantity: 2, Resell: true})
			return err
		},
		"Cancel": func(ctx context.Context, g *stripe.Gateway) error {
			return g.Cancel(ctx, "k", "cus_1", "sub_1", payment.Cancellation{})
		},
		"Invoices": func(ctx context.Context, g *stripe.Gateway) error {
			_, err := g.Invoices(ctx, "cus_1", "")
			return err
		},
		"Pay": func(ctx context.Context, g *stripe.Gateway) error {
			_, err := g.Pay(ctx, "k", "cus_1", "in_1")
			return err
		},
		"Checkout": func(ctx context.Context, g *stripe.Gateway) error {
			_, err := g.Checkout(ctx, "k", "cus_1", page)
			return err
		},
		"ReportUsage": func(ctx context.Context, g *stripe.Gateway) error {
			return g.ReportUsage(ctx, payment.UsageEvent{PriceRef: "price_1"})
		},
	}
	for _, body := range []string{
		`"sub_1"`, `{}`, `null`, `[]`, `{"id":""}`, `{"id":7}`, `{"error":{"code":"x"}}`, ``,
	} {
		for name, call := range calls {
			t.Run(name+" of "+body, func(t *testing.T) {
				s := serve(t, func(_ string, w http.ResponseWriter, _ *http.Request) { reply(w, 200, body) })
				err := call(t.Context(), s.gateway())
				if !errors.Is(err, payment.ErrGateway) || !payment.OutcomeUnknown(err) {
					t.Errorf("error = %v", err)
				}
			})
		}
	}
}
