package billing_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/fault"
)

func TestPauses(t *testing.T) {
	yes, no, pro, feedback := true, false, billing.PlanID("pro"), billing.Feedback("unused")
	ends := func() *billing.Customer {
		c := subscribed("basic", billing.Active)
		c.Subscription.CancelAtPeriodEnd = true
		return c
	}
	paused := func() *billing.Customer {
		c := subscribed("basic", billing.Active)
		c.Subscription.Paused, c.Subscription.PaidUntil = true, c.Subscription.PeriodEnd
		return c
	}
	declined := paused()
	declined.PausedAt = now
	for name, tt := range map[string]struct {
		c    *billing.Customer
		ch   billing.Changes
		err  error
		done bool
	}{
		"an active one": {c: subscribed("basic", billing.Active), ch: billing.Changes{Pause: &yes}},
		"a trial": {subscribed("basic", billing.Trialing), billing.Changes{Pause: &yes},
			billing.ErrSubscriptionNotActive, false},
		"an unpaid renewal": {subscribed("basic", billing.PastDue), billing.Changes{Pause: &yes},
			billing.ErrSubscriptionNotActive, false},
		"one that ends": {ends(), billing.Changes{Pause: &yes}, billing.ErrSubscriptionEnds, false},
		"with another plan": {subscribed("basic", billing.Active), billing.Changes{Pause: &yes, Plan: &pro},
			fault.ErrInvalid, false},
		"with a reason": {subscribed("basic", billing.Active),
			billing.Changes{Pause: &yes, Feedback: &feedback}, fault.ErrInvalid, false},
		"twice":                       {paused(), billing.Changes{Pause: &yes}, nil, true},
		"resumed":                     {c: paused(), ch: billing.Changes{Pause: &no}},
		"resumed, not paused":         {subscribed("basic", billing.Active), billing.Changes{Pause: &no}, nil, true},
		"resumed after many declines": {declined, billing.Changes{Pause: &no}, billing.ErrPaused, false},
		"another plan while it rests": {paused(), billing.Changes{Plan: &pro}, billing.ErrSubscriptionPaused, false},
		"a code while it rests": {paused(), billing.Changes{Code: "HALF"}, billing.ErrSubscriptionPaused,
			false},
		"its end while it rests":       {c: paused(), ch: billing.Changes{CancelAtPeriodEnd: &yes}},
		"a reason without a reason to": {paused(), billing.Changes{Feedback: &feedback}, fault.ErrInvalid, false},
		"the end together with why": {c: paused(),
			ch: billing.Changes{CancelAtPeriodEnd: &yes, Feedback: &feedback}},
		"the reason of one that ends":   {c: ends(), ch: billing.Changes{Feedback: &feedback}},
		"the same reason as it has now": {explained(), billing.Changes{Feedback: &feedback}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			done, err := tt.c.ChangeSubscription(owner, "k", nil, tt.ch, plans)
			if wantErr(t, err, tt.err); done != tt.done || (tt.c.Pending != nil) != (err == nil && !done) {
				t.Fatalf("%t, %+v", done, tt.c.Pending)
			}
			if op := tt.c.Pending; op != nil && tt.ch.Pause != nil {
				a := op.Amendment(billing.Plan{})
				if *a.Pause != *tt.ch.Pause || a.Resell || !*a.Pause && a.PaidUntil.IsZero() {
					t.Errorf("%+v", a)
				}
			}
		})
	}
}

// explained returns a customer whose subscription ends, and who has said why.
func explained() *billing.Customer {
	c := subscribed("basic", billing.Active)
	c.Subscription.CancelAtPeriodEnd, c.Subscription.Cancellation.Feedback = true, "unused"
	return c
}

func TestAReasonGoesWithTheCancellation(t *testing.T) {
	c, no := explained(), false
	_, err := c.ChangeSubscription(owner, "k", nil, billing.Changes{CancelAtPeriodEnd: &no}, plans)
	if wantErr(t, err, nil); c.Pending.Cancellation == nil || *c.Pending.Cancellation != (billing.Cancellation{}) {
		t.Errorf("%+v", c.Pending)
	}
}

func TestAnEndTellsWhy(t *testing.T) {
	c := subscribed("basic", billing.Active)
	why := billing.Cancellation{Feedback: "too_expensive", Comment: "secret"}
	wantErr(t, c.CancelSubscription(owner, "k", nil, why), nil)
	if c.Pending.Why() != why {
		t.Errorf("%+v", c.Pending)
	}
	c.Settle(owner, "k", c.Look(), nil, plans)
	for _, e := range c.Recorded() {
		if e.Data["cancellation_feedback"] != billing.Feedback("too_expensive") || len(e.Data) > 2 {
			t.Errorf("%s: %+v", e.Type, e.Data)
		}
	}
	if c.Ended == nil || c.Ended.Cancellation != why {
		t.Errorf("%+v", c.Ended)
	}
}

func TestAPauseEntitlesToWhatWasPaid(t *testing.T) {
	c := subscribed("basic", billing.Active)
	end := c.Subscription.PeriodEnd
	h := func(start time.Time, until time.Time) []billing.GatewaySubscription {
		return []billing.GatewaySubscription{{
			ID: c.Subscription.ID, Status: billing.Active, Quantity: 1, Paused: true, PaidUntil: until,
			PeriodStart: start, PeriodEnd: start.AddDate(0, 0, 30),
		}}
	}
	seeSubscriptions(c, owner, h(c.Subscription.PeriodStart, time.Time{}), plans)
	seeSubscriptions(c, owner, h(end, time.Time{}), plans)
	if s := c.Subscription; !s.PaidUntil.Equal(end) || !s.Entitled(end.Add(-1), 0) || s.Entitled(end, time.Hour) {
		t.Errorf("%+v", s)
	}
	seeSubscriptions(c, owner, h(end, now), plans) // as the gateway knows better
	if s := c.Subscription; !s.PaidUntil.Equal(now) {
		t.Errorf("%+v", s)
	}
}
