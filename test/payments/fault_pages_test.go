package payments

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
)

var invoiced = payment.Details{
	Name: "Ada's Engines", Email: "billing@engines.example", Address: payment.Address{Country: "DE"},
	TaxIDs: []payment.TaxID{{Type: "eu_vat", Value: "DE123456789"}},
}

// pageRequests are requests about billing details and about pages of the gateway. They cost nothing.
var pageRequests = []request{
	{name: "billing details", prepare: func(*testing.T, *shop) {},
		do: func(ctx context.Context, s *shop, _ string) error {
			_, err := s.ChangeDetails(ctx, s.now(), invoiced)
			return err
		},
		check: func(t *testing.T, s *shop) {
			name, email, country, taxIDs := s.api.Described(s.customer)
			assert.That(t, name == invoiced.Name && email == invoiced.Email && country == "DE" &&
				slices.Equal(taxIDs, []string{"eu_vat DE123456789"}), "%q, %q, %q, %q", name, email, country, taxIDs)
		}},
	{name: "portal link", do: func(ctx context.Context, s *shop, _ string) error {
		p, err := s.Portal(ctx, s.now(), "https://app.example/billing")
		if err == nil {
			s.subject = p.URL
		}
		return err
	}},
	{name: "checkout link", prepare: func(*testing.T, *shop) {},
		do: func(ctx context.Context, s *shop, _ string) error {
			p, err := s.Checkout(ctx, s.now(), payments.CheckoutRequest{
				Plan: "basic", Quantity: 1, SuccessURL: "https://app.example/paid", CancelURL: "https://app.example/",
			})
			if err == nil {
				s.subject = p.URL
			}
			return err
		},
		check: func(t *testing.T, s *shop) { // a payer who has both pages open could pay on both
			if open := s.api.OpenCheckouts(s.customer); len(open) != 1 || !strings.Contains(s.subject, open[0]) {
				t.Errorf("%q are open, want %q", open, s.subject)
			}
		}},
}
