package payments_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// answers sets the results of the gateway's subscribe calls, in order.
func (s *mockedService) answers(errs ...error) {
	s.customers.SetDefault(any, any, any, any).AnyTimes().Return(nil)
	s.subscriptions.Subscribe(any, "k", payment.CustomerID("cus_1"), any).Times(len(errs)).DoAndReturn(
		func(context.Context, string, payment.CustomerID, payment.Order) (payment.GatewaySubscription, error) {
			err := errs[0]
			errs = errs[1:]
			return payment.GatewaySubscription{}, err
		})
}

// has sets the gateway's subscriptions.
func (s *mockedService) has(subscriptions ...payment.GatewaySubscription) *gomock.Call {
	return s.subscriptions.Subscriptions(any, any).MinTimes(1).Return(subscriptions, nil)
}

// hasThen sets that the gateway has no subscription at the first read, and these afterwards.
func (s *mockedService) hasThen(err error, subscriptions ...payment.GatewaySubscription) {
	first := true
	s.subscriptions.Subscriptions(any, any).MinTimes(1).DoAndReturn(
		func(context.Context, payment.CustomerID) ([]payment.GatewaySubscription, error) {
			if first {
				first = false
				return nil, nil
			}
			return subscriptions, err
		})
}

func TestARefusalAfterAnUnansweredCallIsNoOutcome(t *testing.T) {
	refusedRejection := &payment.Rejection{Reason: "unauthorized"}
	begin := func(t *testing.T, subscriptions ...payment.GatewaySubscription) *mockedService {
		s := mockedWith(t, customer("pm_1"))
		s.answers(payment.ErrGatewayTimeout, refusedRejection)
		s.hasThen(nil, subscriptions...)
		return s
	}
	runInBubble(t, "what took effect counts", func(t *testing.T) {
		s := begin(t, held(payment.Active))
		v, err := s.Subscribe(s.ctx, owner, "k", wanted)
		require.NoError(t, err)
		assert.That(t, v.ID == "sub_1" && s.kept.Pending == nil, "%+v, %+v", v, s.kept)
	})
	runInBubble(t, "what does not show yet stays pending", func(t *testing.T) {
		s := begin(t)
		_, err := s.Subscribe(s.ctx, owner, "k", wanted)
		require.ErrorIs(t, err, payment.ErrGateway)
		require.That(t, s.kept.Pending != nil && payment.OutcomeUnknown(err), "given up: %v", err)
		_, err = s.Subscribe(s.ctx, owner, "another", wanted)
		require.ErrorIs(t, err, payment.ErrPending)
		s.answers(refusedRejection)
		by := system
		by.At = now.Add(30 * time.Second)
		err = s.Reconcile(s.ctx, by)
		assert.That(t, payment.OutcomeUnknown(err) && s.kept.Pending != nil, "given up by the job: %v", err)
		s.answers(refusedRejection)
		by.At = now.Add(3 * time.Minute) // no call can still be running
		require.NoError(t, s.Reconcile(s.ctx, by))
		assert.That(t, s.kept.Pending == nil, "still pending")
	})
	runInBubble(t, "nor is it while the gateway cannot be read", func(t *testing.T) {
		s := mockedWith(t, customer("pm_1"))
		s.answers(payment.ErrGatewayTimeout, refusedRejection)
		s.hasThen(refusedRejection)
		_, err := s.Subscribe(s.ctx, owner, "k", wanted)
		assert.That(t, payment.OutcomeUnknown(err) && s.kept.Pending != nil, "given up: %v", err)
		s.answers(refusedRejection)
		by := system
		by.At = now.Add(10 * time.Minute)
		err = s.Reconcile(s.ctx, by)
		assert.That(t, payment.OutcomeUnknown(err) && s.kept.Pending != nil, "given up: %v", err)
	})
	runInBubble(t, "a decline is one", func(t *testing.T) {
		s := mockedWith(t, customer("pm_1"))
		s.answers(payment.ErrGatewayTimeout, &payment.DeclinedError{DeclineCode: "x"})
		s.has()
		_, err := s.Subscribe(s.ctx, owner, "k", wanted)
		require.ErrorIs(t, err, payment.ErrCardDeclined)
		assert.That(t, s.kept.Pending == nil, "still pending")
	})
}

func TestAnOperationKeepsWhatItSells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mockedWith(t, customer("pm_1"))
		s.expectSubscribe(t, 3, payment.GatewaySubscription{}, payment.ErrGatewayTimeout)
		_, err := s.Subscribe(s.ctx, owner, "k", wanted)
		require.ErrorIs(t, err, payment.ErrGatewayTimeout)
		s.terms.Plans = slices.Clone(plans) // a deployment with another price
		s.terms.Plans[0].PriceRef, s.terms.Plans[0].Price.Amount = "price_new", 1100
		s.subscriptions.Subscribe(any, "k", any, any).DoAndReturn(
			func(_ context.Context, _ string, _ payment.CustomerID, o payment.Order) (payment.GatewaySubscription,
				error) {
				assert.That(t, o.Plan.PriceRef == "price_basic" && o.Plan.Price.Amount == 900,
					"the call is repeated with %+v", o.Plan)
				return held(payment.Active), nil
			})
		s.has(held(payment.Active))
		require.NoError(t, s.Reconcile(s.ctx, system))
		assert.That(t, s.kept.Pending == nil, "still pending")
	})
	t.Run("even if the plan is gone", func(t *testing.T) {
		s := mockedWith(t, customer("pm_1"))
		s.kept.Pending = &payment.Operation{Kind: payment.Subscribe, Key: "k", At: now, Plan: "gone", Quantity: 2,
			Sold: &payment.Plan{ID: "gone", PriceRef: "price_gone"}}
		s.subscriptions.Subscribe(any, "k", any, any).Return(held(payment.Active), nil)
		s.has(held(payment.Active))
		require.NoError(t, s.Reconcile(s.ctx, system))
		assert.That(t, s.kept.Subscription != nil, "not made")
	})
}

func TestAllLiveSubscriptionsEndTogether(t *testing.T) {
	s := mockedWith(t, subscribed("pm_1"))
	s.kept.Surplus = []payment.SubscriptionID{"sub_2"}
	for id, key := range map[payment.SubscriptionID]string{"sub_1": "k", "sub_2": "k_sub_2"} {
		s.subscriptions.Cancel(any, key, payment.CustomerID("cus_1"), id, any).Return(nil)
	}
	require.NoError(t, s.CancelSubscription(s.ctx, owner, "k", nil, payment.Cancellation{}))
	assert.That(t, s.kept.Subscription == nil && len(s.kept.Surplus) == 0, "%+v", s.kept)
}

func TestTheDefaultThatIsShownIsTheGateways(t *testing.T) {
	laterActor := owner
	laterActor.At = now.Add(payment.Fresh)
	s := mockedWith(t, customer())
	s.customers.Wallet(any, any).Times(2).Return(payment.Wallet{Methods: []payment.Method{method("pm_1")}}, nil)
	s.customers.SetDefault(any, any, any, payment.MethodID("pm_1")).Return(&payment.Rejection{Reason: "x"})
	w, err := s.Methods(s.ctx, laterActor)
	require.NoError(t, err)
	assert.That(t, w.Default == "" && len(w.Methods) == 1, "the gateway has no default: %+v", w)
	laterActor.At = laterActor.At.Add(payment.Fresh)
	s.customers.SetDefault(any, any, any, payment.MethodID("pm_1")).Return(nil)
	w, err = s.Methods(s.ctx, laterActor)
	require.NoError(t, err)
	assert.That(t, w.Default == "pm_1" && s.kept.Default == "pm_1", "it was not made the default: %+v", w)
}

func TestTheGatewayIsAskedBeforeAnythingIsBought(t *testing.T) {
	t.Run("for a subscription that was made elsewhere", func(t *testing.T) {
		s := mockedWith(t, customer("pm_1"))
		elsewhere := held(payment.Active)
		elsewhere.Key = ""
		s.has(elsewhere)
		_, err := s.Subscribe(s.ctx, owner, "k", wanted)
		require.ErrorIs(t, err, payment.ErrSubscriptionExists)
		assert.That(t, s.kept.Subscription != nil && s.kept.Subscription.Plan == "basic" && s.kept.Pending == nil,
			"%+v", s.kept)
	})
	runInBubble(t, "and if it does not answer nothing is", func(t *testing.T) {
		s := mockedWith(t, customer("pm_1"))
		s.subscriptions.Subscriptions(any, any).MinTimes(1).Return(nil, payment.ErrGatewayUnavailable)
		_, err := s.Subscribe(s.ctx, owner, "k", wanted)
		require.ErrorIs(t, err, payment.ErrGatewayUnavailable)
		assert.That(t, s.kept.Pending == nil, "%+v", s.kept)
	})
	t.Run("for the price", func(t *testing.T) {
		s := mockedWith(t, subscribed("pm_1"))
		s.priced = &payment.Rejection{Reason: "x"}
		pro := payment.PlanID("pro")
		_, err := s.ChangeSubscription(s.ctx, owner, "k", nil, payment.Changes{Plan: &pro})
		require.ErrorIs(t, err, payment.ErrGateway)
		s.kept = customer("pm_1")
		_, err = s.Subscribe(s.ctx, owner, "k", wanted)
		require.ErrorIs(t, err, payment.ErrGateway)
		assert.That(t, s.kept.Pending == nil, "%+v", s.kept)
	})
}

func TestWhatWasPaidMeanwhileDoesNotGiveWay(t *testing.T) {
	s := mockedWith(t, subscribed("pm_1"))
	s.kept.Subscription.Status, s.kept.Subscription.Plan = payment.Incomplete, "pro"
	waits, paid := held(payment.Incomplete), held(payment.Active)
	waits.Key, paid.Key, waits.Plan, paid.Plan = "made", "made", "pro", "pro"
	s.subscriptions.Subscriptions(any, any).Return([]payment.GatewaySubscription{waits}, nil)
	s.subscriptions.GiveUp(any, any, any, payment.SubscriptionID("sub_1")).Return(payment.ErrSubscriptionExists)
	s.subscriptions.Subscriptions(any, any).Return([]payment.GatewaySubscription{paid}, nil)
	_, err := s.Subscribe(s.ctx, owner, "k", wanted)
	require.ErrorIs(t, err, payment.ErrSubscriptionExists)
	assert.That(t, s.kept.Pending == nil && s.kept.Subscription.Status == payment.Active &&
		s.kept.Subscription.Plan == "pro", "%+v", s.kept.Subscription)
}

func TestWhatIsListedForTheActionIsStored(t *testing.T) {
	s := mockedWith(t, subscribed("pm_1"))
	s.kept.Subscription.Status = payment.Incomplete
	s.has(held(payment.Active))
	v, err := s.Subscription(s.ctx, owner)
	require.NoError(t, err)
	assert.That(t, v.Status == payment.Active && v.Action == nil && s.kept.Subscription.Status == payment.Active,
		"%+v, %+v", v, s.kept.Subscription)
}

func TestTheDefaultIsPutBackAfterADecline(t *testing.T) {
	begin := func(t *testing.T) *mockedService {
		s := mockedWith(t, customer("pm_1", "pm_2"))
		s.has()
		s.customers.SetDefault(any, any, any, payment.MethodID("pm_2")).AnyTimes().Return(nil)
		s.subscriptions.Subscribe(any, "k", any,
			any).MinTimes(1).Return(payment.GatewaySubscription{}, &payment.DeclinedError{DeclineCode: "x"})
		return s
	}
	buy := func(s *mockedService) error {
		_, err := s.Subscribe(s.ctx, owner, "k", payment.SubscribeRequest{Plan: "basic", Quantity: 1, Method: "pm_2"})
		return err
	}
	t.Run("before the purchase is over", func(t *testing.T) {
		s := begin(t)
		s.customers.SetDefault(any, any, any, payment.MethodID("pm_1")).Return(nil)
		require.ErrorIs(t, buy(s), payment.ErrCardDeclined)
		assert.That(t, s.kept.Pending == nil && s.kept.Default == "pm_1", "%+v", s.kept)
	})
	runInBubble(t, "else by the job", func(t *testing.T) {
		s := begin(t)
		s.customers.SetDefault(any, any, any, payment.MethodID("pm_1")).Times(3).Return(payment.ErrGatewayTimeout)
		err := buy(s)
		require.That(t, payment.OutcomeUnknown(err) && s.kept.Pending != nil, "given up: %v", err)
		s.customers.SetDefault(any, any, any, payment.MethodID("pm_1")).Return(nil)
		require.NoError(t, s.Reconcile(s.ctx, system))
		assert.That(t, s.kept.Pending == nil, "still pending")
	})
}

func TestPlansNeedNoWorkspace(t *testing.T) {
	s := newMocked(t)
	nowhere := owner
	nowhere.Workspace, nowhere.Role = "", identity.NoRole
	all, current, err := s.Plans(s.ctx, nowhere)
	require.NoError(t, err)
	assert.That(t, len(all) == len(plans) && current == "", "%v, %q", all, current)
}

func TestEntitlementFollowsTheClockOfTheGateway(t *testing.T) {
	s := mockedWith(t, subscribed("pm_1"))
	s.kept.Subscription.Status = payment.PastDue
	for ahead, want := range map[time.Duration]bool{6 * 24 * time.Hour: true, 8 * 24 * time.Hour: false} {
		s.terms.Clock = func(context.Context, payment.CustomerID) (time.Time, error) { return now.Add(ahead), nil }
		v, err := s.Subscription(s.ctx, member)
		require.NoError(t, err)
		assert.That(t, v.Entitled == want, "%s ahead: entitled %v", ahead, v.Entitled)
	}
}

// TestTheGraceBeginsWhenTheFailureIsSeen moves the clock forward while the subscription is being read.
func TestTheGraceBeginsWhenTheFailureIsSeen(t *testing.T) {
	s := mockedWith(t, subscribed("pm_1"))
	s.kept.SubscriptionAt = time.Time{}
	current := now
	s.terms.Clock = func(context.Context, payment.CustomerID) (time.Time, error) { return current, nil }
	failed := now.AddDate(0, 0, 10)
	s.subscriptions.Subscriptions(any, any).DoAndReturn(
		func(context.Context, payment.CustomerID) ([]payment.GatewaySubscription, error) {
			current = failed
			return []payment.GatewaySubscription{held(payment.PastDue)}, nil
		})
	v, err := s.Subscription(s.ctx, member)
	require.NoError(t, err)
	assert.That(t, v.Entitled && v.PastDueSince.Equal(failed), "%v since %s", v.Entitled, v.PastDueSince)
}

func TestExpiryFollowsTheClockOfTheGateway(t *testing.T) {
	s := mockedWith(t, customer("pm_1", "pm_2"))
	s.terms.Clock = func(context.Context, payment.CustomerID) (time.Time, error) { return now.AddDate(20, 0, 0), nil }
	_, _, err := s.SetDefault(s.ctx, owner, "pm_2")
	require.ErrorIs(t, err, payment.ErrMethodExpired)
	require.ErrorIs(t, s.RemoveMethod(s.ctx, owner, "pm_1", "pm_2"), payment.ErrMethodExpired)
	s.subscriptions.Subscriptions(any, any).AnyTimes().Return(nil, nil)
	_, err = s.Subscribe(s.ctx, owner, "k", payment.SubscribeRequest{Plan: "basic", Method: "pm_1", Quantity: 1})
	require.ErrorIs(t, err, payment.ErrMethodExpired)
	_, err = s.Subscribe(s.ctx, owner, "k", payment.SubscribeRequest{Plan: "basic", Quantity: 1})
	require.ErrorIs(t, err, payment.ErrMethodRequired)
}

// TestAnAuditTakesUpAnOperationWhoseJobHasGivenUp comes after an outage that was longer than the attempts of the job.
func TestAnAuditTakesUpAnOperationWhoseJobHasGivenUp(t *testing.T) {
	s := mockedWith(t, subscribed("pm_1"))
	s.kept.Pending = &payment.Operation{Kind: payment.Change, Key: "k", At: now.Add(-48 * time.Hour), Plan: "pro"}
	s.customers.Wallet(any, any).AnyTimes().Return(payment.Wallet{}, payment.ErrGatewayTimeout)
	assert.ErrorIs(t, s.Audit(s.ctx, system), payment.ErrGatewayTimeout)
	_, isQueued := s.queued[payment.ReconcileJob]
	assert.That(t, isQueued, "nothing will end it")
}

// TestAnAnswerAtTheEndOfTheTimeIsStored has the gateway answer when nearly no time is left, and the customer change
// meanwhile, so that the subscriptions must be read again.
func TestAnAnswerAtTheEndOfTheTimeIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mockedWith(t, subscribed("pm_1"))
		s.kept.SubscriptionAt = now.Add(-time.Hour)
		type read = func(context.Context, payment.CustomerID) ([]payment.GatewaySubscription, error)
		takes := func(d time.Duration) read {
			return func(ctx context.Context, _ payment.CustomerID) ([]payment.GatewaySubscription, error) {
				select {
				case <-time.After(d):
					return []payment.GatewaySubscription{held(payment.Active)}, nil
				case <-ctx.Done():
					return nil, payment.ErrGatewayTimeout
				}
			}
		}
		slow := s.subscriptions.Subscriptions(any, any).DoAndReturn(takes(4 * time.Second))
		s.subscriptions.Subscriptions(any, any).After(slow).AnyTimes().DoAndReturn(takes(500 * time.Millisecond))
		s.subscriptions.Amend(any, "k", any, any, any).DoAndReturn(func(
			context.Context, string, payment.CustomerID, payment.SubscriptionID, payment.Amendment,
		) (payment.GatewaySubscription, error) {
			time.Sleep(3900 * time.Millisecond)
			s.kept.Revision++
			return held(payment.Active), nil
		})
		extra := 2
		_, err := s.ChangeSubscription(s.ctx, owner, "k", nil, payment.Changes{Quantity: &extra})
		require.NoError(t, err)
		assert.That(t, s.kept.Pending == nil, "it is still pending: %+v", s.kept.Pending)
	})
}
