package payments_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestASettledChangeAnswersItsRepetition makes a change whose responses are lost. The job finds out that it was made.
func TestASettledChangeAnswersItsRepetition(t *testing.T) {
	dear := payment.PlanID("pro")
	upgradedSubscription := held(payment.Active)
	upgradedSubscription.Plan = "pro"
	settle := func(t *testing.T, s *mockedService, change payment.Changes) {
		t.Helper()
		amend := s.subscriptions.Amend
		lost := amend(any, "k", any, any, any).Times(3).Return(payment.GatewaySubscription{}, payment.ErrGatewayTimeout)
		amend(any, "k", any, any, any).After(lost).Return(upgradedSubscription, nil)
		_, err := s.ChangeSubscription(s.ctx, owner, "k", nil, change)
		require.ErrorIs(t, err, payment.ErrGatewayTimeout)
		_, err = s.ChangeSubscription(s.ctx, owner, "another", nil, change)
		require.ErrorIs(t, err, payment.ErrPending)
		s.has(upgradedSubscription)
		require.NoError(t, s.Reconcile(s.ctx, system))
	}
	laterActor := owner
	laterActor.At = now.Add(20 * time.Minute) // when a preview has expired
	repeat := func(t *testing.T, s *mockedService, key string, change payment.Changes) {
		t.Helper()
		v, err := s.ChangeSubscription(s.ctx, laterActor, key, []int64{5}, change) // the revision was that of before
		require.NoError(t, err)
		assert.That(t, v.Plan == "pro" && s.kept.Pending == nil, "%+v, %+v", v, s.kept.Pending)
	}
	runInBubble(t, "under its key", func(t *testing.T) {
		s, change := newMocked(t), payment.Changes{Plan: &dear}
		s.kept = subscribed("pm_1")
		settle(t, s, change)
		repeat(t, s, "k", change)
		_, err := s.ChangeSubscription(s.ctx, laterActor, "another", []int64{5}, change)
		assert.That(t, err != nil, "another call with the revision of before succeeded")
	})
	runInBubble(t, "with its preview, which has expired meanwhile", func(t *testing.T) {
		s, change := newMocked(t), payment.Changes{Plan: &dear}
		s.kept = subscribed("pm_1")
		s.expectPreviews(t, 2, 2000, nil)
		p, err := s.PreviewChange(s.ctx, owner, change)
		require.NoError(t, err)
		change.Preview = p.Signature
		settle(t, s, change)
		repeat(t, s, "another", change)
		extra := 7
		change.Quantity = &extra
		_, err = s.ChangeSubscription(s.ctx, laterActor, "another", nil, change)
		require.ErrorIs(t, err, payment.ErrPreviewOutdated)
	})
	runInBubble(t, "with what the payer has to do", func(t *testing.T) {
		s, change := newMocked(t), payment.Changes{Plan: &dear}
		s.kept = subscribed("pm_1")
		upgradedSubscription.Confirming = true
		upgradedSubscription.Action = &payment.Action{Type: payment.ConfirmPayment, ClientSecret: secret.New("s")}
		settle(t, s, change)
		v, err := s.ChangeSubscription(s.ctx, laterActor, "k", nil, change)
		require.NoError(t, err)
		assert.That(t, v.Action != nil, "%+v", v)
	})
}

func TestASettledCancellationAnswersItsRepetition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mockedWith(t, subscribed("pm_1"))
		end := s.subscriptions.Cancel
		lost := end(any, "k", any, any, any).Times(3).Return(payment.ErrGatewayTimeout)
		end(any, "k", any, any, any).After(lost).Return(nil)
		require.ErrorIs(t, s.CancelSubscription(s.ctx, owner, "k", nil, payment.Cancellation{}),
			payment.ErrGatewayTimeout)
		require.NoError(t, s.Reconcile(s.ctx, system))
		require.NoError(t, s.CancelSubscription(s.ctx, owner, "k", []int64{5}, payment.Cancellation{}))
		require.ErrorIs(
			t,
			s.CancelSubscription(s.ctx, owner, "another", nil, payment.Cancellation{}),
			payment.ErrNoSubscription,
		)
	})
}

func TestARepeatedCancellationLeavesTheOperationOfAnotherCallAlone(t *testing.T) {
	s := newMocked(t) // whose gateway refuses every call
	s.kept = customer("pm_1")
	s.kept.Done = []payment.DoneCall{{Key: "k", At: now}}
	s.kept.Pending = &payment.Operation{Key: "another", Kind: payment.Subscribe, Plan: "basic", Quantity: 1}
	require.NoError(t, s.CancelSubscription(s.ctx, owner, "k", nil, payment.Cancellation{}))
	assert.That(t, s.kept.Pending != nil && s.kept.Pending.Key == "another", "%+v", s.kept.Pending)
}

func TestAPurchaseIsNotMadeUncheckedWhenAnotherOperationHasJustEnded(t *testing.T) {
	s := mockedWith(t, customer("pm_1"))
	s.kept.Pending = &payment.Operation{Key: "another", Kind: payment.Subscribe, Plan: "basic", Quantity: 1}
	s.between = func() { s.kept.Pending = nil }
	_, err := s.Subscribe(s.ctx, owner, "k", wanted)
	require.ErrorIs(t, err, payment.ErrPending)
}

// TestAnOutcomeIsStoredThoughTheClientHasGoneAway has a client that hangs up during the call of the gateway. Nothing
// stays pending when the gateway has answered, so that the next call need not wait.
func TestAnOutcomeIsStoredThoughTheClientHasGoneAway(t *testing.T) {
	declinedFault := &payment.DeclinedError{DeclineCode: "generic_decline"}
	for name, tt := range map[string]struct {
		kept    *payment.Customer
		gateway func(s *mockedService, hangUp func())
		call    func(s *mockedService, ctx context.Context) error
		want    func(c *payment.Customer) bool
	}{
		"a purchase that is declined": {customer("pm_1"), func(s *mockedService, hangUp func()) {
			s.has()
			s.customers.SetDefault(any, any, any, any).AnyTimes().Return(nil)
			s.subscriptions.Subscribe(any, any, any, any).DoAndReturn(
				func(ctx context.Context, _ string,
					_ payment.CustomerID, _ payment.Order) (payment.GatewaySubscription, error) {
					hangUp()
					return payment.GatewaySubscription{}, errors.Join(declinedFault, ctx.Err())
				})
		}, func(s *mockedService, ctx context.Context) error {
			_, err := s.Subscribe(ctx, owner, "k", wanted)
			return err
		}, func(c *payment.Customer) bool { return c.Subscription == nil }},
		"a change that is made": {subscribed("pm_1"), func(s *mockedService, hangUp func()) {
			h := held(payment.Active)
			h.Quantity = 2
			s.subscriptions.Amend(any, any, any, any, any).DoAndReturn(
				func(ctx context.Context, _ string, _ payment.CustomerID, _ payment.SubscriptionID,
					_ payment.Amendment) (payment.GatewaySubscription, error) {
					hangUp()
					return h, ctx.Err()
				})
		}, func(s *mockedService, ctx context.Context) error {
			two := 2
			_, err := s.ChangeSubscription(ctx, owner, "k", nil, payment.Changes{Quantity: &two})
			return err
		}, func(c *payment.Customer) bool { return c.Subscription.Quantity == 2 }},
		"a removal of a payment method": {customer("pm_1"), func(s *mockedService, hangUp func()) {
			s.customers.Detach(any, any, any, any).DoAndReturn(
				func(ctx context.Context, _ string, _ payment.CustomerID, _ payment.MethodID) error {
					hangUp()
					return ctx.Err()
				})
		}, func(s *mockedService, ctx context.Context) error { return s.RemoveMethod(ctx, owner, "pm_1", "") },
			func(c *payment.Customer) bool { return len(c.Methods) == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			s := mockedWith(t, tt.kept)
			ctx, hangUp := context.WithCancel(s.ctx)
			tt.gateway(s, hangUp)
			_ = tt.call(s, ctx) // no one reads the response
			assert.That(t, s.kept.Settled() && tt.want(s.kept) && s.queued[payment.ReconcileJob].Subject == "",
				"%+v, pending %+v", s.kept, s.kept.Pending)
		})
	}
}
