package payments_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// expectSubscribe expects calls that start a subscription, and checks that the operation has been
// stored before each.
func (s *mockedService) expectSubscribe(t *testing.T, times int, h payment.GatewaySubscription, err error) {
	t.Helper()
	s.customers.SetDefault(any, any, payment.CustomerID("cus_1"), payment.MethodID("pm_1")).AnyTimes().Return(nil)
	var all []payment.GatewaySubscription
	if s.kept.Pending != nil && err == nil { // they are read after a repeated call
		all = append(all, h)
	}
	if s.kept.Subscription == nil {
		s.subscriptions.Subscriptions(any, any).MaxTimes(1).Return(all, nil)
	}
	s.subscriptions.Subscribe(any, "k", payment.CustomerID("cus_1"), any).Times(times).DoAndReturn(
		func(_ context.Context, _ string, _ payment.CustomerID, o payment.Order) (payment.GatewaySubscription, error) {
			assert.That(t, s.kept.Pending != nil && s.kept.Pending.Key == "k" &&
				!s.queued[payment.ReconcileJob].Due.After(system.At.Add(payment.ReconcileAfter)),
				"it is asked before it is stored: %+v", s.kept.Pending)
			assert.That(t, o.Plan.ID == "basic" && o.Quantity == 2 && o.Method == "pm_1", "%+v", o)
			return h, err
		})
}

var wanted = payment.SubscribeRequest{Plan: "basic", Quantity: 2}

func TestASubscriptionIsStoredWhenTheGatewayHasMadeIt(t *testing.T) {
	s := mockedWith(t, customer("pm_1"))
	h := held(payment.Incomplete)
	h.Action = &payment.Action{Type: payment.ConfirmPayment, ClientSecret: secret.New("s")}
	s.expectSubscribe(t, 1, h, nil)
	v, err := s.Subscribe(s.ctx, owner, "k", wanted)
	require.NoError(t, err)
	assert.That(t, v.Made && v.Action != nil && s.kept.Pending == nil && s.kept.Subscription.ID == "sub_1" &&
		len(s.queued) == 0, "%+v, %+v", v, s.kept)
	t.Run("and answered again, with what there is to do", func(t *testing.T) {
		h.Quantity = 2
		s.subscriptions.Subscriptions(any, any).Times(2).Return([]payment.GatewaySubscription{h}, nil)
		for key, isNew := range map[string]bool{"k": true, "another": false} {
			v, err := s.Subscribe(s.ctx, owner, key, wanted)
			require.NoError(t, err)
			assert.That(t, v.Made == isNew && v.Action != nil, "%s: %+v", key, v)
		}
	})
}

func TestWhatWasRefusedLeavesNothing(t *testing.T) {
	s := mockedWith(t, customer("pm_1"))
	s.expectSubscribe(t, 1, payment.GatewaySubscription{}, &payment.DeclinedError{DeclineCode: "insufficient_funds"})
	_, err := s.Subscribe(s.ctx, owner, "k", wanted)
	require.ErrorIs(t, err, payment.ErrCardDeclined)
	assert.That(t, s.kept.Pending == nil && s.kept.Subscription == nil && len(s.queued) == 0,
		"%+v, %+v", s.kept, s.queued)
}

func TestWhatNobodyAnsweredIsFoundOutUnderTheSameKey(t *testing.T) {
	lost := func(t *testing.T) *mockedService {
		s := mockedWith(t, customer("pm_1"))
		s.expectSubscribe(t, 3, payment.GatewaySubscription{}, payment.ErrGatewayTimeout)
		_, err := s.Subscribe(s.ctx, owner, "k", wanted)
		require.ErrorIs(t, err, payment.ErrGatewayTimeout)
		require.That(t, s.kept.Pending != nil && s.queued[payment.ReconcileJob].Subject == "acme",
			"%+v, %+v", s.kept, s.queued)
		_, err = s.Subscribe(s.ctx, owner, "another", wanted)
		require.ErrorIs(t, err, payment.ErrPending)
		return s
	}
	runInBubble(t, "by the job", func(t *testing.T) {
		s := lost(t)
		s.expectSubscribe(t, 1, held(payment.Active), nil)
		require.NoError(t, s.Reconcile(s.ctx, system))
		assert.That(t, s.kept.Pending == nil && s.kept.Subscription.ID == "sub_1" && len(s.queued) == 0, "%+v", s.kept)
	})
	runInBubble(t, "by the job, again and again", func(t *testing.T) {
		s := lost(t)
		s.expectSubscribe(t, 3, payment.GatewaySubscription{}, payment.ErrGatewayUnavailable)
		require.ErrorIs(t, s.Reconcile(s.ctx, system), payment.ErrGatewayUnavailable)
		assert.That(t, s.kept.Pending != nil, "it was given up")
	})
	runInBubble(t, "by the caller", func(t *testing.T) {
		s := lost(t)
		s.expectSubscribe(t, 1, held(payment.Active), nil)
		v, err := s.Subscribe(s.ctx, owner, "k", wanted)
		require.NoError(t, err)
		assert.That(t, v.Made, "%+v", v)
	})
	for name, tt := range map[string]struct {
		held []payment.GatewaySubscription
		made bool
	}{"after a day by what the gateway has": {[]payment.GatewaySubscription{held(payment.Active)}, true},
		"which may be nothing": {nil, false}} {
		runInBubble(t, name, func(t *testing.T) {
			s := lost(t)
			s.subscriptions.Subscriptions(any, any).Return(tt.held, nil)
			by := system
			by.At = now.Add(24 * time.Hour)
			require.NoError(t, s.Reconcile(s.ctx, by))
			assert.That(t, s.kept.Pending == nil && (s.kept.Subscription != nil) == tt.made, "%+v", s.kept)
		})
	}
}

func TestAMethodThatWasJustAddedIsFound(t *testing.T) {
	s := mockedWith(t, customer())
	s.kept.WalletAt = now.Add(-30 * time.Second)
	s.customers.Wallet(any, any).Return(payment.Wallet{Methods: []payment.Method{method("pm_1")}}, nil)
	s.expectSubscribe(t, 1, held(payment.Active), nil)
	_, err := s.Subscribe(s.ctx, owner, "k", wanted)
	require.NoError(t, err)
	t.Run("but not looked for all the time", func(t *testing.T) {
		s := mockedWith(t, customer())
		s.has()
		_, err := s.Subscribe(s.ctx, owner, "k", wanted)
		require.ErrorIs(t, err, payment.ErrMethodRequired)
	})
}

func TestAnIncompleteOneGivesWay(t *testing.T) {
	s := mockedWith(t, subscribed("pm_1"))
	s.kept.Subscription.Status, s.kept.Subscription.Plan = payment.Incomplete, "pro"
	waits := held(payment.Incomplete)
	waits.Plan, waits.Key = "pro", "made"
	s.has(waits)
	s.subscriptions.GiveUp(any, "k_giveway", payment.CustomerID("cus_1"), payment.SubscriptionID("sub_1")).Return(nil)
	h := held(payment.Active)
	h.ID = "sub_2"
	s.expectSubscribe(t, 1, h, nil)
	v, err := s.Subscribe(s.ctx, owner, "k", wanted)
	require.NoError(t, err)
	assert.That(t, v.ID == "sub_2", "%+v", v)
}

func TestChangingAndEndingASubscription(t *testing.T) {
	pro := payment.PlanID("pro")
	s := newMocked(t)
	_, err := s.ChangeSubscription(s.ctx, owner, "k", nil, payment.Changes{Plan: &pro})
	require.ErrorIs(t, err, payment.ErrNoSubscription)
	require.ErrorIs(t, s.CancelSubscription(s.ctx, owner, "k", nil, payment.Cancellation{}), payment.ErrNoSubscription)
	s.kept = subscribed("pm_1")
	h := held(payment.Active)
	h.Plan = "pro"
	s.subscriptions.Amend(any, "k", payment.CustomerID("cus_1"), payment.SubscriptionID("sub_1"), any).DoAndReturn(
		func(_ context.Context, _ string, _ payment.CustomerID, _ payment.SubscriptionID,
			a payment.Amendment) (payment.GatewaySubscription, error) {
			assert.That(t, a.Plan.ID == "pro" && !a.AtRenewal && a.Resell, "%+v", a)
			return h, nil
		})
	v, err := s.ChangeSubscription(s.ctx, owner, "k", nil, payment.Changes{Plan: &pro})
	require.NoError(t, err)
	assert.That(t, v.Plan == "pro" && s.kept.Pending == nil, "%+v", v)
	_, err = s.ChangeSubscription(s.ctx, owner, "k2", nil, payment.Changes{Plan: &pro})
	assert.NoError(t, err)
	s.subscriptions.Cancel(any, "k3", payment.CustomerID("cus_1"), payment.SubscriptionID("sub_1"), any).Return(nil)
	require.NoError(t, s.CancelSubscription(s.ctx, owner, "k3", nil, payment.Cancellation{}))
	assert.That(t, s.kept.Subscription == nil, "%+v", s.kept.Subscription)
}

func TestTheActionIsForThoseWhoManagePayments(t *testing.T) {
	for _, status := range []payment.Status{payment.Incomplete, payment.PastDue} {
		s := mockedWith(t, subscribed("pm_1"))
		s.kept.Subscription.Status = status
		h := held(status)
		h.Action = &payment.Action{Type: payment.ConfirmPayment, ClientSecret: secret.New("s")}
		s.subscriptions.Subscriptions(any, payment.CustomerID("cus_1")).Return([]payment.GatewaySubscription{h}, nil)
		v, err := s.Subscription(s.ctx, owner)
		require.NoError(t, err)
		assert.That(t, v.Action == h.Action && v.Status == status, "a manager sees %+v", v)
		v, err = s.Subscription(s.ctx, member)
		require.NoError(t, err)
		assert.That(t, v.Action == nil, "%s: a member sees %+v", status, v)
	}
}

func TestAnAuditCorrectsTheMirror(t *testing.T) {
	s := mockedWith(t, subscribed("pm_1"))
	for range 2 { // once to compare, once to update
		s.customers.Wallet(any,
			any).Return(payment.Wallet{Methods: []payment.Method{method("pm_1")}, Default: "pm_1"}, nil)
		s.subscriptions.Subscriptions(any, any).Return(nil, nil)
	}
	s.subscriptions.Invoices(any, any, any).Return(nil, nil)
	require.NoError(t, s.Audit(s.ctx, system))
	types := ""
	for _, e := range s.kept.Recorded() {
		types += e.Type + " "
	}
	assert.That(t, s.kept.Subscription == nil && types == "subscription.ended payment_mirror.corrected " &&
		s.queued[payment.AuditJob].Due == now.Add(payment.AuditEvery), "%s%+v, %+v", types, s.kept, s.queued)
	t.Run("and a look changes nothing", func(t *testing.T) {
		s := mockedWith(t, subscribed("pm_1"))
		s.customers.Wallet(any, any).Return(payment.Wallet{}, nil)
		s.subscriptions.Subscriptions(any, any).Return([]payment.GatewaySubscription{held(payment.PastDue)}, nil)
		previous := fmt.Sprintf("%+v %+v", *s.kept, *s.kept.Subscription)
		found, err := s.Differences(s.ctx, system)
		require.NoError(t, err)
		next := fmt.Sprintf("%+v %+v", *s.kept, *s.kept.Subscription)
		assert.That(t, len(found) == 2 && next == previous, "%+v\n%s\n%s", found, previous, next)
		s.payments.EXPECT().Customers(any, system.Org, "sandbox",
			page.Query{Limit: 7}).Return(page.Of[identity.WorkspaceID]{Items: []identity.WorkspaceID{"acme"}}, nil)
		all, err := s.Customers(s.ctx, system, page.Query{Limit: 7})
		assert.That(t, err == nil && len(all.Items) == 1, "%+v, %v", all, err)
	})
}

// What someone has changed at the gateway a moment ago decides about a change.
func TestAChangeOfASubscriptionThatSomeoneElseChanged(t *testing.T) {
	old := payment.Rate{Ref: "price_old", Price: payment.Money{Amount: 500, Currency: "usd"}, Interval: payment.Month,
		IntervalCount: 1}
	item := payment.Item{ID: "si_plan", Rate: old, Quantity: 2, PeriodStart: now, PeriodEnd: now.AddDate(0, 1, 0)}
	extra, fewer, dear := 3, 1, payment.PlanID("pro")
	begin := func(t *testing.T, change func(*payment.GatewaySubscription)) *mockedService {
		t.Helper()
		s := mockedWith(t, subscribed("pm_1"))
		s.kept.SubscriptionAt = now.Add(-time.Minute)
		h := held(payment.Active)
		h.Items = []payment.Item{item}
		change(&h)
		s.subscriptions.Subscriptions(any, any).Return([]payment.GatewaySubscription{h}, nil)
		return s
	}
	sentMessages := func(s *mockedService, want func(payment.Amendment) bool) {
		s.subscriptions.Amend(any, any, any, any, any).DoAndReturn(
			func(_ context.Context, _ string, _ payment.CustomerID, _ payment.SubscriptionID,
				a payment.Amendment) (payment.GatewaySubscription, error) {
				assert.That(t, want(a), "sent %+v", a)
				h := held(payment.Active)
				h.Items = []payment.Item{item}
				return h, nil
			})
	}
	emptyCall := func(*payment.GatewaySubscription) {}
	t.Run("an end by the portal is not revoked", func(t *testing.T) {
		s := begin(t, func(h *payment.GatewaySubscription) { h.CancelAt = item.PeriodEnd })
		_, err := s.ChangeSubscription(s.ctx, owner, "k", nil, payment.Changes{Quantity: &fewer})
		require.ErrorIs(t, err, payment.ErrSubscriptionEnds)
		v := s.kept.Subscription
		assert.That(t, v.CancelAtPeriodEnd && v.EndsAt.Equal(item.PeriodEnd), "%+v", v)
	})
	t.Run("seats keep the price that is paid, which is shown", func(t *testing.T) {
		s := begin(t, emptyCall)
		s.priced = payment.ErrGatewayUnavailable // nothing asks what the plan costs now
		sentMessages(s, func(a payment.Amendment) bool {
			return a.Item == "si_plan" && a.Plan.ID == "" && a.Quantity == 3 && !a.AtRenewal
		})
		v, err := s.ChangeSubscription(s.ctx, owner, "k", nil, payment.Changes{Quantity: &extra})
		require.NoError(t, err)
		assert.That(t, v.Sold != nil && v.Sold.Price == old.Price && v.Sold.ID == "basic", "%+v", v.Sold)
	})
	t.Run("another plan keeps the seats that there are", func(t *testing.T) {
		s := begin(t, emptyCall)
		sentMessages(s, func(a payment.Amendment) bool { return a.Plan.PriceRef == "price_pro" && a.Quantity == 0 })
		_, err := s.ChangeSubscription(s.ctx, owner, "k", nil, payment.Changes{Plan: &dear})
		require.NoError(t, err)
	})
	t.Run("another plan is verified", func(t *testing.T) {
		s := begin(t, emptyCall)
		s.priced = payment.ErrGatewayUnavailable
		_, err := s.ChangeSubscription(s.ctx, owner, "k", nil, payment.Changes{Plan: &dear})
		require.ErrorIs(t, err, payment.ErrGatewayUnavailable)
	})
	t.Run("one without an item of a plan is left alone", func(t *testing.T) {
		s := begin(t, func(h *payment.GatewaySubscription) { h.Plan = "" })
		_, err := s.ChangeSubscription(s.ctx, owner, "k", nil, payment.Changes{Quantity: &extra})
		require.ErrorIs(t, err, payment.ErrSubscriptionUnrecognized)
	})
}
