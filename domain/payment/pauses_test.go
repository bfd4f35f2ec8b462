package payment_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestPauses(t *testing.T) {
	yes, negative, pro, feedback := true, false, payment.PlanID("pro"), payment.Feedback("unused")
	ends := func() *payment.Customer {
		c := active("basic")
		c.Subscription.CancelAtPeriodEnd = true
		return c
	}
	pause := func() *payment.Customer {
		c := active("basic")
		c.Subscription.Paused, c.Subscription.PaidUntil = true, c.Subscription.PeriodEnd
		return c
	}
	declinedCustomer := pause()
	declinedCustomer.PausedAt = now
	for name, tt := range map[string]struct {
		c    *payment.Customer
		ch   payment.Changes
		err  error
		done bool
	}{
		"an active one": {c: active("basic"), ch: payment.Changes{Pause: &yes}},
		"a trial": {subscribed("basic", payment.Trialing), payment.Changes{Pause: &yes},
			payment.ErrSubscriptionNotActive, false},
		"an unpaid renewal": {subscribed("basic", payment.PastDue), payment.Changes{Pause: &yes},
			payment.ErrSubscriptionNotActive, false},
		"one that ends": {ends(), payment.Changes{Pause: &yes}, payment.ErrSubscriptionEnds, false},
		"with another plan": {active("basic"), payment.Changes{Pause: &yes, Plan: &pro},
			fault.ErrInvalid, false},
		"with a reason": {active("basic"), payment.Changes{Pause: &yes, Feedback: &feedback},
			fault.ErrInvalid, false},
		"twice":                       {pause(), payment.Changes{Pause: &yes}, nil, true},
		"resumed":                     {c: pause(), ch: payment.Changes{Pause: &negative}},
		"resumed, not paused":         {active("basic"), payment.Changes{Pause: &negative}, nil, true},
		"resumed after many declines": {declinedCustomer, payment.Changes{Pause: &negative}, payment.ErrPaused, false},
		"another plan while it rests": {pause(), payment.Changes{Plan: &pro}, payment.ErrSubscriptionPaused, false},
		"a code while it rests": {pause(), payment.Changes{Code: "HALF"}, payment.ErrSubscriptionPaused,
			false},
		"its end while it rests":       {c: pause(), ch: payment.Changes{CancelAtPeriodEnd: &yes}},
		"a reason without a reason to": {pause(), payment.Changes{Feedback: &feedback}, fault.ErrInvalid, false},
		"the end together with why": {c: pause(), ch: payment.Changes{CancelAtPeriodEnd: &yes,
			Feedback: &feedback}},
		"the reason of one that ends":   {c: ends(), ch: payment.Changes{Feedback: &feedback}},
		"the same reason as it has now": {explained(), payment.Changes{Feedback: &feedback}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			done, err := tt.c.ChangeSubscription(owner, "k", nil, tt.ch, plans)
			require.ErrorIs(t, err, tt.err)
			op := tt.c.Pending
			require.That(t, done == tt.done && (op != nil) == (err == nil && !done), "%t, %+v", done, op)
			if op != nil && tt.ch.Pause != nil {
				a := op.Amendment(payment.Plan{})
				assert.That(t, *a.Pause == *tt.ch.Pause && !a.Resell && (*a.Pause || !a.PaidUntil.IsZero()), "%+v", a)
			}
		})
	}
}

// explained returns a customer whose subscription ends, and who has said why.
func explained() *payment.Customer {
	c := active("basic")
	c.Subscription.CancelAtPeriodEnd, c.Subscription.Cancellation.Feedback = true, "unused"
	return c
}

func TestAReasonGoesWithTheCancellation(t *testing.T) {
	c, negative := explained(), false
	_, err := c.ChangeSubscription(owner, "k", nil, payment.Changes{CancelAtPeriodEnd: &negative}, plans)
	require.NoError(t, err)
	reason := c.Pending.Cancellation
	assert.That(t, reason != nil && *reason == (payment.Cancellation{}), "%+v", c.Pending)
}

func TestAnEndTellsWhy(t *testing.T) {
	c := active("basic")
	reason := payment.Cancellation{Feedback: "too_expensive", Comment: "secret"}
	require.NoError(t, c.CancelSubscription(owner, "k", nil, reason))
	assert.That(t, c.Pending.Why() == reason, "%+v", c.Pending)
	c.Settle(owner, "k", c.Look(), nil, plans)
	for _, e := range c.Recorded() {
		assert.That(t, e.Data["cancellation_feedback"] == payment.Feedback("too_expensive") && len(e.Data) <= 2,
			"%s: %+v", e.Type, e.Data)
	}
	assert.That(t, c.Ended != nil && c.Ended.Cancellation == reason, "%+v", c.Ended)
}

func TestAPauseEntitlesToWhatWasPaid(t *testing.T) {
	c := active("basic")
	end := c.Subscription.PeriodEnd
	h := func(start time.Time, end time.Time) []payment.GatewaySubscription {
		return []payment.GatewaySubscription{{
			ID: c.Subscription.ID, Status: payment.Active, Quantity: 1, Paused: true, PaidUntil: end,
			PeriodStart: start, PeriodEnd: start.AddDate(0, 0, 30),
		}}
	}
	seeSubscriptions(c, owner, h(c.Subscription.PeriodStart, time.Time{}), plans)
	seeSubscriptions(c, owner, h(end, time.Time{}), plans)
	s := c.Subscription
	assert.That(t, s.PaidUntil.Equal(end) && s.Entitled(end.Add(-1), 0) && !s.Entitled(end, time.Hour), "%+v", s)
	seeSubscriptions(c, owner, h(end, now), plans) // as the gateway knows better
	if s := c.Subscription; !s.PaidUntil.Equal(now) {
		t.Errorf("%+v", s)
	}
}
