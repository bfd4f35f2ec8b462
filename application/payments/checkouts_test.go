package payments_test

import (
	"context"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestPagesEndForTheDeletionOfTheirWorkspace(t *testing.T) {
	begin := func(t *testing.T, end time.Time) *mockedService {
		s := mockedWith(t, customer("pm_1"))
		s.kept.CheckoutUntil = end
		return s
	}
	ends := func(t *testing.T, s *mockedService, want bool) {
		t.Helper()
		hasEnded, err := s.EndCheckouts(s.ctx, system)
		require.NoError(t, err)
		open := s.kept.CheckoutUntil
		assert.That(t, hasEnded == want && open.IsZero() == want, "ended %t, open until %s", hasEnded, open)
	}
	t.Run("one that is open", func(t *testing.T) {
		s := begin(t, now.Add(time.Hour))
		s.pages.EndCheckouts(any, payment.CustomerID("cus_1")).Return(nil)
		s.has()
		ends(t, s, true)
	})
	t.Run("one whose time is over", func(t *testing.T) {
		s := begin(t, now)
		s.has()
		ends(t, s, true)
	})
	t.Run("but not one on which a payer has subscribed", func(t *testing.T) {
		s := begin(t, now.Add(time.Hour))
		s.pages.EndCheckouts(any, payment.CustomerID("cus_1")).Return(nil)
		s.has(held(payment.Active))
		ends(t, s, false)
		assert.That(t, s.kept.Subscription != nil, "the subscription is not mirrored")
	})
	t.Run("without a page no call is made", func(t *testing.T) {
		s := begin(t, time.Time{})
		hasEnded, err := s.EndCheckouts(s.ctx, system)
		assert.That(t, !hasEnded && err == nil, "ended %t, %v", hasEnded, err)
		s.kept = nil
		hasEnded, err = s.EndCheckouts(s.ctx, system)
		assert.That(t, !hasEnded && err == nil, "ended %t, %v", hasEnded, err)
	})
}

// TestACheckoutPageEndsWhenPaymentsArePaused has a page that was created before the pause: cards could be tried there.
func TestACheckoutPageEndsWhenPaymentsArePaused(t *testing.T) {
	s := mockedWith(t, customer("pm_1"))
	s.kept.PausedAt, s.kept.CheckoutUntil = now, now.Add(time.Hour)
	waiting := []payment.Event{{ID: "evt_1", Customer: "cus_1", State: payment.Received}}
	s.inbox.EXPECT().Waiting(any, any, any, any).AnyTimes().DoAndReturn(
		func(context.Context, identity.OrgID, string, payment.CustomerID) ([]payment.Event, error) {
			return waiting, nil
		})
	s.inbox.EXPECT().Save(any, any, any).DoAndReturn(
		func(context.Context, identity.OrgID, ...payment.Event) error {
			waiting = nil
			return nil
		})
	s.customers.Wallet(any, any).Return(payment.Wallet{
		Methods: s.kept.Methods, Default: "pm_1",
	}, nil)
	s.has()
	s.subscriptions.Invoices(any, any, any).Return(nil, nil)
	s.customers.CancelSetupIntents(any, any).Return(nil)
	s.pages.EndCheckouts(any, payment.CustomerID("cus_1")).Return(nil)
	require.NoError(t, s.ProcessEvents(s.ctx, system, "cus_1"))
}
