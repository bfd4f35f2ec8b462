package payments

import (
	"context"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// requests need a subscription before, or nothing.
var requests = []request{
	{name: "subscribe", live: 1, paid: 1, done: payment.ErrSubscriptionExists,
		do: func(ctx context.Context, s *shop, key string) error {
			_, err := s.Subscribe(ctx, s.now(), key, payment.SubscribeRequest{Plan: "basic", Quantity: 1})
			return err
		}},
	{name: "subscribe with a code", live: 1, paid: 1, done: payment.ErrSubscriptionExists,
		do: func(ctx context.Context, s *shop, key string) error {
			_, err := s.Subscribe(ctx, s.now(), key,
				payment.SubscribeRequest{Plan: "basic", Quantity: 1, Code: "TENOFF"})
			return err
		},
		check: func(t *testing.T, s *shop) {
			if s.paid() != "810" {
				t.Errorf("paid %s", s.paid())
			}
		}},
	{name: "upgrade", ready: true, live: 1, paid: 2,
		do: func(ctx context.Context, s *shop, key string) error {
			plan := payment.PlanID("pro")
			_, err := s.ChangeSubscription(ctx, s.now(), key, nil, payment.Changes{Plan: &plan})
			return err
		}},
	{name: "preview of an upgrade", ready: true, live: 1, paid: 1,
		do: func(ctx context.Context, s *shop, _ string) error {
			plan := payment.PlanID("pro")
			_, err := s.PreviewChange(ctx, s.now(), payment.Changes{Plan: &plan})
			return err
		}},
	{name: "cancel", ready: true, live: 0, paid: 1, done: payment.ErrNoSubscription,
		do: func(ctx context.Context, s *shop, key string) error {
			return s.CancelSubscription(ctx, s.now(), key, nil, payment.Cancellation{})
		}},
	{name: "cancel at the end", ready: true, live: 1, paid: 1,
		do:    func(ctx context.Context, s *shop, key string) error { return s.endsAtPeriodEnd(ctx, key, true) },
		check: func(t *testing.T, s *shop) { s.isEnding(t, true) }},
	{name: "pause", ready: true, live: 1, paid: 1,
		do:    func(ctx context.Context, s *shop, key string) error { return s.pauses(ctx, key, true) },
		check: func(t *testing.T, s *shop) { s.isPaused(t, true) }},
	{name: "setup intent", do: func(ctx context.Context, s *shop, key string) error {
		_, err := s.SetupIntent(ctx, s.now(), key, payment.OffSession)
		return err
	}},
}

// moreRequests are requests about what a workspace has already. Each prepares it.
var moreRequests = []request{
	{name: "downgrade", live: 1, paid: 1,
		prepare: func(t *testing.T, s *shop) {
			s.buy(t, "before", "pro")
		},
		do: func(ctx context.Context, s *shop, key string) error {
			plan := payment.PlanID("basic")
			_, err := s.ChangeSubscription(ctx, s.now(), key, nil, payment.Changes{Plan: &plan})
			return err
		},
		check: func(t *testing.T, s *shop) {
			s.later(time.Minute)
			v, err := s.Subscription(t.Context(), s.now())
			assert.That(t, err == nil && v.Plan == "pro" && v.Pending != nil && v.Pending.Plan == "basic",
				"%+v, %v", v, err)
		}},
	{name: "resume", live: 1, paid: 1,
		prepare: func(t *testing.T, s *shop) {
			s.buy(t, "before", "basic")
			require.NoError(t, s.endsAtPeriodEnd(t.Context(), "ends", true))
		},
		do:    func(ctx context.Context, s *shop, key string) error { return s.endsAtPeriodEnd(ctx, key, false) },
		check: func(t *testing.T, s *shop) { s.isEnding(t, false) }},
	{name: "end of a pause", live: 1, paid: 1,
		prepare: func(t *testing.T, s *shop) {
			s.buy(t, "before", "basic")
			require.NoError(t, s.pauses(t.Context(), "pauses", true))
		},
		do:    func(ctx context.Context, s *shop, key string) error { return s.pauses(ctx, key, false) },
		check: func(t *testing.T, s *shop) { s.isPaused(t, false) }},
	{name: "usage", live: 1, paid: 1,
		prepare: func(t *testing.T, s *shop) {
			s.buy(t, "before", "metered")
			_, err := s.ReportUsage(t.Context(), s.now(), payment.UsageRequest{Feature: "emails", Quantity: 5,
				Key: "report"})
			require.NoError(t, err)
			s.api.Advance(s.ahead) // the gateway refuses usage from the future
		},
		do: func(ctx context.Context, s *shop, _ string) error { // the job that sends it
			return s.SendUsage(ctx, identity.System(s.by.Org, s.by.Workspace, "test", s.now().At))
		},
		check: func(t *testing.T, s *shop) {
			sum, events := s.api.Usage(s.customer)
			assert.That(t, sum == 5 && events == 1, "%d units in %d events", sum, events)
		}},
	{name: "pay invoice", live: 1, paid: 2,
		prepare: func(t *testing.T, s *shop) {
			s.buy(t, "before", "basic")
			good := s.mirror(t).Default
			s.makeDefault(t, payment.MethodID(s.addCard("0341")))
			s.api.Advance(32 * 24 * time.Hour)
			s.later(32 * 24 * time.Hour)
			s.makeDefault(t, good)
			s.subject = s.api.OpenInvoices(s.customer)[0]
		},
		do: func(ctx context.Context, s *shop, key string) error {
			_, err := s.PayInvoice(ctx, s.now(), key, payment.InvoiceID(s.subject))
			return err
		}},
	{name: "default method",
		prepare: func(_ *testing.T, s *shop) { s.subject = s.addCard("4444") },
		do: func(ctx context.Context, s *shop, _ string) error {
			_, _, err := s.SetDefault(ctx, s.now(), payment.MethodID(s.subject))
			return err
		},
		check: func(t *testing.T, s *shop) { s.hasMethods(t, s.subject, 2) }},
	{name: "remove method", done: payment.ErrMethodNotFound,
		prepare: func(t *testing.T, s *shop) {
			s.subject = string(s.mirror(t).Default)
			s.addCard("4444")
			s.wallet(t)
		},
		do: func(ctx context.Context, s *shop, _ string) error {
			return s.RemoveMethod(ctx, s.now(), payment.MethodID(s.subject), "")
		},
		check: func(t *testing.T, s *shop) {
			s.later(time.Minute)
			by := identity.System(s.by.Org, s.by.Workspace, "test", s.now().At)
			assert.NoError(t, s.Reconcile(t.Context(), by))
			_, err := s.Methods(t.Context(), s.now())
			assert.NoError(t, err)
			def, n := s.api.Methods(s.customer)
			assert.That(t, def != s.subject && def != "" && n == 1, "default %q of %d methods", def, n)
		}},
}

// endsAtPeriodEnd cancels the subscription at the end of its period, or undoes that.
func (s *shop) endsAtPeriodEnd(ctx context.Context, key string, ends bool) error {
	_, err := s.ChangeSubscription(ctx, s.now(), key, nil, payment.Changes{CancelAtPeriodEnd: &ends})
	return err
}

// isEnding fails t unless the subscription ends at the end of its period, or not, at the gateway.
func (s *shop) isEnding(t *testing.T, want bool) {
	t.Helper()
	for _, holding := range s.api.Subscriptions(s.customer) {
		assert.Equal(t, "ends at the end of the period", holding.CancelAtPeriodEnd, want)
	}
}

// pauses pauses the subscription, or ends the pause.
func (s *shop) pauses(ctx context.Context, key string, pause bool) error {
	_, err := s.ChangeSubscription(ctx, s.now(), key, nil, payment.Changes{Pause: &pause})
	return err
}

// isPaused fails t unless the subscription is paused, or not, at the gateway.
func (s *shop) isPaused(t *testing.T, want bool) {
	t.Helper()
	for _, holding := range s.api.Subscriptions(s.customer) {
		assert.Equal(t, "paused", holding.Paused, want)
	}
}

// makeDefault makes a method the default.
func (s *shop) makeDefault(t *testing.T, m payment.MethodID) {
	t.Helper()
	_, _, err := s.SetDefault(t.Context(), s.now(), m)
	require.NoError(t, err)
}

// hasMethods fails t unless the customer has n methods at the gateway, and this default.
func (s *shop) hasMethods(t *testing.T, want string, n int) {
	t.Helper()
	def, got := s.api.Methods(s.customer)
	assert.That(t, def == want && got == n, "default %q of %d methods, want %q of %d", def, got, want, n)
}
