package payments

import (
	"context"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/identity"
)

// moreRequests are requests about what a workspace has already. Each prepares it.
var moreRequests = []request{
	{name: "downgrade", calls: 6, live: 1, paid: 1,
		prepare: func(t *testing.T, s *shop) {
			if _, err := s.subscribe(t, "before", "pro"); err != nil {
				t.Fatal(err)
			}
		},
		do: func(ctx context.Context, s *shop, key string) error {
			plan := billing.PlanID("basic")
			_, err := s.ChangeSubscription(ctx, s.now(), key, nil, billing.Changes{Plan: &plan})
			return err
		},
		check: func(t *testing.T, s *shop) {
			s.later(time.Minute)
			v, err := s.Subscription(t.Context(), s.now())
			if err != nil || v.Plan != "pro" || v.Pending == nil || v.Pending.Plan != "basic" {
				t.Errorf("%+v, %v", v, err)
			}
		}},
	{name: "pay invoice", calls: 5, live: 1, paid: 2,
		prepare: func(t *testing.T, s *shop) {
			if _, err := s.subscribe(t, "before", "basic"); err != nil {
				t.Fatal(err)
			}
			good := s.mirror(t).Default
			s.makeDefault(t, billing.MethodID(s.addCard("0341")))
			s.api.Advance(32 * 24 * time.Hour)
			s.later(32 * 24 * time.Hour)
			s.makeDefault(t, good)
			s.subject = s.api.OpenInvoices(s.customer)[0]
		},
		do: func(ctx context.Context, s *shop, key string) error {
			_, err := s.PayInvoice(ctx, s.now(), key, billing.InvoiceID(s.subject))
			return err
		}},
	{name: "default method", calls: 4,
		prepare: func(_ *testing.T, s *shop) { s.subject = s.addCard("4444") },
		do: func(ctx context.Context, s *shop, _ string) error {
			_, _, err := s.SetDefault(ctx, s.now(), billing.MethodID(s.subject))
			return err
		},
		check: func(t *testing.T, s *shop) { s.hasMethods(t, s.subject, 2) }},
	{name: "remove method", calls: 6, done: billing.ErrMethodNotFound,
		prepare: func(t *testing.T, s *shop) {
			s.subject = string(s.mirror(t).Default)
			s.addCard("4444")
			if _, err := s.Methods(t.Context(), s.now()); err != nil {
				t.Fatal(err)
			}
		},
		do: func(ctx context.Context, s *shop, _ string) error {
			return s.RemoveMethod(ctx, s.now(), billing.MethodID(s.subject), "")
		},
		check: func(t *testing.T, s *shop) {
			s.later(time.Minute)
			by := identity.System(s.by.Org, s.by.Workspace, "test", s.now().At)
			if err := s.Reconcile(t.Context(), by); err != nil {
				t.Error(err)
			}
			if _, err := s.Methods(t.Context(), s.now()); err != nil {
				t.Error(err)
			}
			def, n := s.api.Methods(s.customer)
			if def == s.subject || def == "" || n != 1 {
				t.Errorf("default %q of %d methods", def, n)
			}
		}},
}

// makeDefault makes a method the default.
func (s *shop) makeDefault(t *testing.T, m billing.MethodID) {
	t.Helper()
	if _, _, err := s.SetDefault(t.Context(), s.now(), m); err != nil {
		t.Fatal(err)
	}
}

// hasMethods fails t unless the customer has n methods at the gateway, and this default.
func (s *shop) hasMethods(t *testing.T, want string, n int) {
	t.Helper()
	if def, got := s.api.Methods(s.customer); def != want || got != n {
		t.Errorf("default %q of %d methods, want %q of %d", def, got, want, n)
	}
}
