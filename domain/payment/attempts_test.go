package payment_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var limits = payment.CardLimits{SetupIntentsPerHour: 5, OpenSetupIntents: 2, DeclinesPerDay: 3}

func after(by identity.Actor, d time.Duration) identity.Actor {
	by.At = by.At.Add(d)
	return by
}

// wantWait fails the test unless err says to wait d.
func wantWait(t *testing.T, err error, d time.Duration) {
	t.Helper()
	require.ErrorIs(t, err, payment.ErrIntentLimit)
	f, _ := errors.AsType[*fault.Error](err)
	assert.Equal(t, "wait", f.RetryAfter, d)
}

func TestSetupIntentsAreLimited(t *testing.T) {
	t.Run("those that are not confirmed", func(t *testing.T) {
		c := customer()
		require.NoError(t, c.BeginIntent(owner, "a", limits))
		require.NoError(t, c.BeginIntent(after(owner, 10*time.Minute), "b", limits))
		wantWait(t, c.BeginIntent(after(owner, 20*time.Minute), "c", limits), 40*time.Minute)
		require.NoError(t, c.BeginIntent(after(owner, 20*time.Minute), "b", limits)) // the same call again
		seeWallet(c, after(owner, 21*time.Minute), payment.Wallet{Methods: []payment.Method{card("new", 0)}})
		require.NoError(t, c.BeginIntent(after(owner, 22*time.Minute), "c", limits))
		wantWait(t, c.BeginIntent(after(owner, 22*time.Minute), "d", limits), 48*time.Minute)
		require.NoError(t, c.BeginIntent(after(owner, 70*time.Minute), "d", limits))
	})
	t.Run("all of an hour", func(t *testing.T) {
		c := customer()
		var methods []payment.Method
		for i := range 5 {
			require.NoError(t, c.BeginIntent(after(owner, time.Duration(i)*time.Minute), fmt.Sprint(i), limits))
			methods = append(methods, card(payment.MethodID(fmt.Sprint("pm_", i)), 0))
			seeWallet(c, owner, payment.Wallet{Methods: methods})
		}
		wantWait(t, c.BeginIntent(after(owner, 5*time.Minute), "x", limits), 55*time.Minute)
		require.NoError(t, c.BeginIntent(after(owner, time.Hour), "x", limits))
	})
	t.Run("no limit counts nothing", func(t *testing.T) {
		c := customer()
		for i := range 100 {
			require.NoError(t, c.BeginIntent(owner, fmt.Sprint(i), payment.CardLimits{}))
		}
		assert.That(t, len(c.Attempts.Intents) == 0, "%+v", c.Attempts)
	})
	t.Run("no member creates any", func(t *testing.T) {
		require.ErrorIs(t, customer().BeginIntent(member, "a", limits), payment.ErrRoleRequired)
	})
}

func TestManyDeclinesPauseThePayments(t *testing.T) {
	c := customer(card("a", 1))
	c.Declined(owner, limits)
	c.Declined(after(owner, time.Hour), limits)
	c.Declined(after(owner, 24*time.Hour), limits) // the first does not count any more
	require.That(t, c.PausedAt.IsZero(), "paused after two within 24 hours")
	position := after(owner, 24*time.Hour+time.Minute)
	c.Declined(position, limits)
	require.That(t, c.PausedAt == position.At && recorded(&c.Log) == "payments.paused ",
		"%+v, recorded %s", c.PausedAt, recorded(&c.Log))
	c.Declined(position, limits) // which records nothing more

	require.ErrorIs(t, c.BeginIntent(position, "k", limits), payment.ErrPaused)
	_, err := c.Subscribe(position, now, "k", one("pro"), plans)
	require.ErrorIs(t, err, payment.ErrPaused)
	c.Subscription = active("basic").Subscription
	change := func(ch payment.Changes) error {
		_, err := c.ChangeSubscription(position, "k", nil, ch, plans)
		return err
	}
	plan, extra, yes := payment.PlanID("pro"), 2, true
	require.ErrorIs(t, change(payment.Changes{Plan: &plan}), payment.ErrPaused)
	require.ErrorIs(t, change(payment.Changes{Quantity: &extra}), payment.ErrPaused)
	t.Run("what charges nothing is still allowed", func(t *testing.T) {
		require.NoError(t, change(payment.Changes{CancelAtPeriodEnd: &yes}))
		c.Pending = nil
		require.NoError(t, c.CancelSubscription(position, "k", nil, payment.Cancellation{}))
	})
	t.Run("until the operator resumes them", func(t *testing.T) {
		_, err := c.Resume(member)
		require.ErrorIs(t, err, payment.ErrRoleRequired)
		isResumed, err := c.Resume(identity.System("org", "acme", "test", position.At))
		require.NoError(t, err)
		assert.That(t, isResumed, "nothing was resumed")
		isResumed, _ = c.Resume(identity.System("org", "acme", "test", position.At))
		assert.That(t, !isResumed, "resumed twice")
		require.NoError(t, c.BeginIntent(position, "k", limits))
		c.Declined(position, limits)
		assert.That(t, c.PausedAt.IsZero(), "declines from before the pause count")
	})
	t.Run("a limit of zero is off", func(t *testing.T) {
		c := customer()
		for range 100 {
			c.Declined(owner, payment.CardLimits{})
		}
		assert.That(t, c.PausedAt.IsZero(), "paused")
	})
}
