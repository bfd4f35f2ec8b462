package payments_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// limitedCodes returns a service with a customer whose workspace may send one invalid code an hour.
func limitedCodes(t *testing.T) *mockedService {
	t.Helper()
	s := mockedWith(t, customer("pm_1"))
	s.terms.Limits.InvalidCodesPerHour = 1
	s.subscriptions.Subscriptions(any, any).AnyTimes().Return(nil, nil)
	s.customers.SetDefault(any, any, any, any).AnyTimes().Return(nil)
	return s
}

var (
	coded     = payment.SubscribeRequest{Plan: "basic", Quantity: 2, Code: "TENOFF"}
	tenOff    = payment.Promotion{ID: "promo", Code: "TENOFF", Discount: payment.Discount{Percent: 1000}}
	ofTwo     = payment.Sale{Plan: plans[0], Quantity: 2}
	customer1 = payment.CustomerID("cus_1")
)

func TestAPromotionCodeGoesToTheGateway(t *testing.T) {
	s := limitedCodes(t)
	s.promotions.Promotion(any, customer1, "TENOFF", ofTwo).Return(tenOff, nil)
	s.subscriptions.Subscribe(any, "k", customer1, payment.Order{
		Plan: payment.Plan{
			ID: "basic", Price: plans[0].Price, Interval: payment.Month, IntervalCount: 1, PriceRef: "price_basic",
		}, Quantity: 2, Method: "pm_1", Promotion: &tenOff,
	}).Return(held(payment.Active), nil)
	_, err := s.Subscribe(s.ctx, owner, "k", coded)
	require.NoError(t, err)
	assert.Equal(t, "a valid code counts", len(s.kept.Attempts.Promotions), 0)
}

func TestInvalidPromotionCodes(t *testing.T) {
	t.Run("count, and leave no operation", func(t *testing.T) {
		s := limitedCodes(t)
		s.promotions.Promotion(any, any, any, any).Return(payment.Promotion{}, payment.ErrPromotionInvalid)
		_, err := s.Subscribe(s.ctx, owner, "k", coded)
		require.ErrorIs(t, err, payment.ErrPromotionInvalid)
		assert.That(t, s.kept.Pending == nil && len(s.kept.Attempts.Promotions) == 1, "%+v", s.kept)
		_, err = s.Subscribe(s.ctx, owner, "k", coded) // the gateway expects no second look-up
		require.ErrorIs(t, err, payment.ErrPromotionLimit)
	})
	t.Run("an answer that the gateway did not give does not count", func(t *testing.T) {
		s := limitedCodes(t)
		s.promotions.Promotion(any, any, any, any).Return(payment.Promotion{}, &payment.Rejection{Reason: "test"})
		_, err := s.Subscribe(s.ctx, owner, "k", coded)
		require.ErrorIs(t, err, payment.ErrGateway)
		assert.That(t, len(s.kept.Attempts.Promotions) == 0, "%+v", s.kept.Attempts)
	})
	t.Run("a code that is used up after the look-up restores the default method", func(t *testing.T) {
		s := mockedWith(t, customer("pm_1", "pm_2"))
		s.subscriptions.Subscriptions(any, any).AnyTimes().Return(nil, nil)
		s.promotions.Promotion(any, any, any, any).Return(tenOff, nil)
		s.customers.SetDefault(any, any, any, payment.MethodID("pm_2")).Return(nil)
		s.customers.SetDefault(any, any, any, payment.MethodID("pm_1")).Return(nil)
		s.subscriptions.Subscribe(any, "k", customer1,
			any).Return(payment.GatewaySubscription{}, payment.ErrPromotionInvalid)
		w := coded
		w.Method = "pm_2"
		_, err := s.Subscribe(s.ctx, owner, "k", w)
		require.ErrorIs(t, err, payment.ErrPromotionInvalid)
		assert.That(t, s.kept.Pending == nil && s.kept.Default == "pm_1", "%+v", s.kept)
	})
}

func TestAChangeWithAPromotionCode(t *testing.T) {
	ch := payment.Changes{Code: "TENOFF"}
	t.Run("is looked up and sent", func(t *testing.T) {
		s := mockedWith(t, subscribed("pm_1"))
		s.promotions.Promotion(any, customer1, "TENOFF", payment.Sale{Plan: plans[0], Quantity: 1}).Return(tenOff, nil)
		h := held(payment.Active)
		h.Discount, h.Code = tenOff.Discount.Begin("di", now), "TENOFF"
		s.subscriptions.Amend(any, "k", customer1, payment.SubscriptionID("sub_1"),
			payment.Amendment{Promotion: &tenOff}).Return(h, nil)
		v, err := s.ChangeSubscription(s.ctx, owner, "k", nil, ch)
		require.NoError(t, err)
		assert.That(t, v.Discount != nil && v.Discount.Percent == 1000, "%+v", v)
	})
	t.Run("without a subscription", func(t *testing.T) {
		s := newMocked(t)
		_, err := s.ChangeSubscription(s.ctx, owner, "k", nil, ch)
		require.ErrorIs(t, err, payment.ErrNoSubscription)
		s.kept = customer("pm_1")
		_, err = s.ChangeSubscription(s.ctx, owner, "k", nil, ch)
		require.ErrorIs(t, err, payment.ErrNoSubscription)
	})
}
