package payments_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestSetupIntentsAreCountedAndStored(t *testing.T) {
	s := newMocked(t)
	s.terms.Limits = payment.CardLimits{OpenSetupIntents: 1}
	s.kept = customer()
	s.kept.WalletAt = now.Add(-payment.Fresh)
	s.customers.CreateSetupIntent(any, any, payment.CustomerID("cus_1"),
		payment.OffSession).Times(3).Return(payment.SetupIntent{}, nil)
	begin := func(key string) error {
		_, err := s.SetupIntent(s.ctx, owner, key, payment.OffSession)
		return err
	}
	require.NoError(t, begin("a"))
	require.NoError(t, begin("a"))

	// The payer confirmed it, but the mirror does not show that yet.
	s.customers.Wallet(any,
		payment.CustomerID("cus_1")).Return(payment.Wallet{Methods: []payment.Method{method("a")}, Default: "a"}, nil)
	require.NoError(t, begin("b"))
	require.ErrorIs(t, begin("c"), payment.ErrIntentLimit)
}

func TestDeclinesThatTheGatewayTellsOfPauseThePayments(t *testing.T) {
	s := newMocked(t)
	s.terms.Limits = payment.CardLimits{DeclinesPerDay: 3}
	s.kept = customer()
	s.payments.EXPECT().Find(any, identity.OrgID("org"), "sandbox",
		payment.CustomerID("cus_1")).AnyTimes().Return(identity.WorkspaceID("acme"), nil)
	tell := func(id, kind string, fresh bool) {
		t.Helper()
		s.inbox.EXPECT().Put(any, identity.OrgID("org"), any).Return(fresh, nil)
		body := fmt.Appendf(nil, `{"id":%q,"object":"event","type":%q,"created":1,"data":{"object":{"object":"x","customer":"cus_1"}}}`, id, kind)
		require.NoError(t, s.Receive(s.ctx, "org", payment.Sandbox, body, payment.Sign(key, body, now), now))
	}
	tell("evt_1", "setup_intent.setup_failed", true)
	tell("evt_1", "setup_intent.setup_failed", false) // which came before
	tell("evt_2", "payment_intent.payment_failed", true)
	tell("evt_3", "setup_intent.succeeded", true)
	require.That(t, s.kept.PausedAt.IsZero(), "paused after two declines")
	tell("evt_4", "setup_intent.setup_failed", true)
	require.That(t, s.kept.PausedAt == now, "not paused after three declines")

	_, err := s.SetupIntent(s.ctx, owner, "k", payment.OffSession)
	require.ErrorIs(t, err, payment.ErrPaused)
	_, err = s.ConfirmIntent(s.ctx, owner, payment.SetupIntent{ID: "seti_1", ClientSecret: secret.New("x")},
		payment.Card{})
	require.ErrorIs(t, err, payment.ErrPaused)

	t.Run("and end the intents that browsers could go on with", func(t *testing.T) {
		waiting := []payment.Event{{ID: "evt_4"}}
		s.inbox.EXPECT().Waiting(any, identity.OrgID("org"), "sandbox", payment.CustomerID("cus_1")).Return(waiting,
			nil)
		s.inbox.EXPECT().Waiting(any, identity.OrgID("org"), "sandbox", payment.CustomerID("cus_1")).Return(nil, nil)
		s.inbox.EXPECT().Save(any, identity.OrgID("org"), any).Return(nil)
		s.expectResync(payment.Wallet{}, nil)
		s.customers.CancelSetupIntents(any, payment.CustomerID("cus_1")).Return(nil)
		require.NoError(t, s.ProcessEvents(s.ctx, system, "cus_1"))
	})
	t.Run("and the subscription whose first payment the browser could confirm", func(t *testing.T) {
		waiting := []payment.Event{{ID: "evt_4"}}
		s.inbox.EXPECT().Waiting(any, identity.OrgID("org"), "sandbox", payment.CustomerID("cus_1")).Return(waiting,
			nil)
		s.inbox.EXPECT().Waiting(any, identity.OrgID("org"), "sandbox", payment.CustomerID("cus_1")).Return(nil, nil)
		s.inbox.EXPECT().Save(any, identity.OrgID("org"), any).Return(nil)
		s.expectResync(payment.Wallet{}, []payment.GatewaySubscription{held(payment.Incomplete)})
		s.subscriptions.GiveUp(any, any, payment.CustomerID("cus_1"), payment.SubscriptionID("sub_1")).Return(nil)
		s.customers.CancelSetupIntents(any, payment.CustomerID("cus_1")).Return(nil)
		require.NoError(t, s.ProcessEvents(s.ctx, system, "cus_1"))
	})
	t.Run("until the operator resumes them", func(t *testing.T) {
		isResumed, err := s.Resume(s.ctx, identity.System("org", "acme", "test", now.Add(time.Minute)))
		require.NoError(t, err)
		assert.That(t, isResumed && s.kept.PausedAt.IsZero(), "%v, %+v", isResumed, s.kept)
		s.kept = nil
		isResumed, err = s.Resume(s.ctx, system)
		require.NoError(t, err)
		assert.That(t, !isResumed, "who is no customer was resumed")
	})
}
