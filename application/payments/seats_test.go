package payments_test

import (
	"context"
	"testing"

	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// seatedFor returns a service whose workspace has members, and a subscription with five seats for them.
func seatedFor(t *testing.T, members int64) *mockedService {
	s := mockedWith(t, subscribed("pm_1"))
	s.kept.Subscription.Quantity = 5
	s.kept.Subscription.Item = payment.SoldItem{ID: "si_1", Rate: payment.Rate{
		Ref: "price_basic", Price: plans[0].Price, Interval: payment.Month, IntervalCount: 1}}
	seats := plans[0]
	seats.Seats, seats.SeatLimits = quota.Members, map[string]int64{"members": 1}
	s.terms.Plans = payment.Plans{seats}
	s.usage.EXPECT().Amounts(any, identity.WorkspaceID("acme"), now).AnyTimes().Return(
		quota.Amounts{Members: members}, nil)
	return s
}

// expectSeats expects that the subscription is to renew with a quantity, and returns err.
func (s *mockedService) expectSeats(t *testing.T, quantity, times int, err error) {
	t.Helper()
	s.subscriptions.Amend(any, any, customer1, payment.SubscriptionID("sub_1"), any).Times(times).DoAndReturn(
		func(_ context.Context, _ string, _ payment.CustomerID, _ payment.SubscriptionID, a payment.Amendment,
		) (payment.GatewaySubscription, error) {
			assert.That(t, a.Quantity == quantity && a.AtRenewal && a.Resell && a.Plan.ID == "", "amended by %+v", a)
			return held(payment.Active), err
		})
}

func TestSeatsFollowTheMembers(t *testing.T) {
	t.Run("a member less is a seat less from the renewal on", func(t *testing.T) {
		s := seatedFor(t, 3)
		s.expectSeats(t, 3, 1, nil)
		s.subscriptions.Subscriptions(any, customer1).AnyTimes().Return(
			[]payment.GatewaySubscription{held(payment.Active)}, nil)
		require.NoError(t, s.FollowSeats(s.ctx, system))
	})
	for name, members := range map[string]int64{"as many members as seats": 5, "more members than seats": 9} {
		t.Run(name+" change nothing", func(t *testing.T) {
			require.NoError(t, seatedFor(t, members).FollowSeats(t.Context(), system))
		})
	}
	runInBubble(t, "what was not answered is tried again", func(t *testing.T) {
		s := seatedFor(t, 3)
		s.expectSeats(t, 3, 3, payment.ErrGatewayUnavailable)
		require.ErrorIs(t, s.FollowSeats(s.ctx, system), payment.ErrGatewayUnavailable)
		require.ErrorIs(t, s.FollowSeats(s.ctx, system), payment.ErrPending)
	})
	t.Run("what is refused is left to the next audit", func(t *testing.T) {
		s := seatedFor(t, 3)
		s.expectSeats(t, 3, 1, payment.ErrSubscriptionEnds)
		s.subscriptions.Subscriptions(any, customer1).AnyTimes().Return(
			[]payment.GatewaySubscription{held(payment.Active)}, nil)
		require.NoError(t, s.FollowSeats(s.ctx, system))
	})
	t.Run("nothing is counted if no plan has seats", func(t *testing.T) {
		s := mockedWith(t, subscribed("pm_1"))
		require.NoError(t, s.FollowSeats(s.ctx, system))
		s.terms.Gateway = nil
		require.NoError(t, s.FollowSeats(s.ctx, system))
	})
}

func TestPurchasesAndChangesNeedASeatForEachMember(t *testing.T) {
	two := 2
	s := seatedFor(t, 3)
	_, err := s.ChangeSubscription(s.ctx, owner, "k", nil, payment.Changes{Quantity: &two})
	require.ErrorIs(t, err, payment.ErrSeatsInUse)
	_, err = s.PreviewChange(s.ctx, owner, payment.Changes{Quantity: &two})
	require.ErrorIs(t, err, payment.ErrSeatsInUse)
	s.kept.Subscription = nil
	s.terms.Returns = payment.ReturnPolicy{Loopback: true}
	_, err = s.Checkout(s.ctx, owner, payments.CheckoutRequest{Plan: "basic", Quantity: 2,
		SuccessURL: "http://localhost/a", CancelURL: "http://localhost/b"})
	require.ErrorIs(t, err, payment.ErrSeatsInUse)
}
