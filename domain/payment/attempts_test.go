package payment_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

var limits = payment.CardLimits{SetupIntentsPerHour: 5, OpenSetupIntents: 2, DeclinesPerDay: 3}

func after(by identity.Actor, d time.Duration) identity.Actor {
	by.At = by.At.Add(d)
	return by
}

// wantWait fails the test unless err says to wait d.
func wantWait(t *testing.T, err error, d time.Duration) {
	t.Helper()
	wantErr(t, err, payment.ErrIntentLimit)
	if f, _ := errors.AsType[*fault.Error](err); f.RetryAfter != d {
		t.Errorf("wait %s, want %s", f.RetryAfter, d)
	}
}

func TestSetupIntentsAreLimited(t *testing.T) {
	t.Run("those that are not confirmed", func(t *testing.T) {
		c := customer()
		wantErr(t, c.BeginIntent(owner, "a", limits), nil)
		wantErr(t, c.BeginIntent(after(owner, 10*time.Minute), "b", limits), nil)
		wantWait(t, c.BeginIntent(after(owner, 20*time.Minute), "c", limits), 40*time.Minute)
		wantErr(t, c.BeginIntent(after(owner, 20*time.Minute), "b", limits), nil) // the same call again
		seeWallet(c, after(owner, 21*time.Minute),
			payment.Wallet{Methods: []payment.Method{card("new", 0)}})
		wantErr(t, c.BeginIntent(after(owner, 22*time.Minute), "c", limits), nil)
		wantWait(t, c.BeginIntent(after(owner, 22*time.Minute), "d", limits), 48*time.Minute)
		wantErr(t, c.BeginIntent(after(owner, 70*time.Minute), "d", limits), nil)
	})
	t.Run("all of an hour", func(t *testing.T) {
		c := customer()
		var methods []payment.Method
		for i := range 5 {
			wantErr(t, c.BeginIntent(after(owner, time.Duration(i)*time.Minute), fmt.Sprint(i), limits), nil)
			methods = append(methods, card(payment.MethodID(fmt.Sprint("pm_", i)), 0))
			seeWallet(c, owner, payment.Wallet{Methods: methods})
		}
		wantWait(t, c.BeginIntent(after(owner, 5*time.Minute), "x", limits), 55*time.Minute)
		wantErr(t, c.BeginIntent(after(owner, time.Hour), "x", limits), nil)
	})
	t.Run("no limit counts nothing", func(t *testing.T) {
		c := customer()
		for i := range 100 {
			wantErr(t, c.BeginIntent(owner, fmt.Sprint(i), payment.CardLimits{}), nil)
		}
		if len(c.Attempts.Intents) != 0 {
			t.Errorf("%+v", c.Attempts)
		}
	})
	t.Run("no member creates any", func(t *testing.T) {
		wantErr(t, customer().BeginIntent(member, "a", limits), payment.ErrRoleRequired)
	})
}

func TestManyDeclinesPauseThePayments(t *testing.T) {
	c := customer(card("a", 1))
	c.Declined(owner, limits)
	c.Declined(after(owner, time.Hour), limits)
	c.Declined(after(owner, 24*time.Hour), limits) // the first does not count any more
	if !c.PausedAt.IsZero() {
		t.Fatal("paused after two within 24 hours")
	}
	at := after(owner, 24*time.Hour+time.Minute)
	c.Declined(at, limits)
	if c.PausedAt != at.At || recorded(&c.Log) != "payments.paused " {
		t.Fatalf("%+v, recorded %s", c.PausedAt, recorded(&c.Log))
	}
	c.Declined(at, limits) // which records nothing more

	wantErr(t, c.BeginIntent(at, "k", limits), payment.ErrPaused)
	_, err := c.Subscribe(at, now, "k", payment.SubscribeRequest{Plan: "pro", Quantity: 1}, plans)
	wantErr(t, err, payment.ErrPaused)
	c.Subscription = subscribed("basic", payment.Active).Subscription
	change := func(ch payment.Changes) error {
		_, err := c.ChangeSubscription(at, "k", nil, ch, plans)
		return err
	}
	plan, more, yes := payment.PlanID("pro"), 2, true
	wantErr(t, change(payment.Changes{Plan: &plan}), payment.ErrPaused)
	wantErr(t, change(payment.Changes{Quantity: &more}), payment.ErrPaused)
	t.Run("what charges nothing is still allowed", func(t *testing.T) {
		wantErr(t, change(payment.Changes{CancelAtPeriodEnd: &yes}), nil)
		c.Pending = nil
		wantErr(t, c.CancelSubscription(at, "k", nil, payment.Cancellation{}), nil)
	})
	t.Run("until the operator resumes them", func(t *testing.T) {
		_, err := c.Resume(member)
		wantErr(t, err, payment.ErrRoleRequired)
		isResumed, err := c.Resume(identity.System("org", "acme", "test", at.At))
		if wantErr(t, err, nil); !isResumed {
			t.Error("nothing was resumed")
		}
		if isResumed, _ := c.Resume(identity.System("org", "acme", "test", at.At)); isResumed {
			t.Error("resumed twice")
		}
		wantErr(t, c.BeginIntent(at, "k", limits), nil)
		c.Declined(at, limits)
		if !c.PausedAt.IsZero() {
			t.Error("declines from before the pause count")
		}
	})
	t.Run("a limit of zero is off", func(t *testing.T) {
		c := customer()
		for range 100 {
			c.Declined(owner, payment.CardLimits{})
		}
		if !c.PausedAt.IsZero() {
			t.Error("paused")
		}
	})
}
