package payment_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestATrialEndsWithAPlanThatHasNone(t *testing.T) {
	plan := func(id payment.PlanID) *payment.PlanID { return &id }
	count, two := 10000, payment.Plan{ID: "two", Price: payment.Money{Amount: 700, Currency: "usd"},
		Interval: payment.Month, IntervalCount: 1, TrialDays: 7, PriceRef: "price_two"}
	free := payment.Plan{ID: "free", Price: payment.Money{Currency: "usd"}, Interval: payment.Month, IntervalCount: 1,
		PriceRef: "price_free"}
	all := append(payment.Plans{two, free}, plans...)
	for name, tt := range map[string]struct {
		customer *payment.Customer
		changes  payment.Changes
		ends     bool
		done     bool
		err      error
	}{
		"a plan without a trial": {customer: subscribed("trial", payment.Trialing, card("a", 1)),
			changes: payment.Changes{Plan: plan("pro"), Quantity: &count}, ends: true},
		"it has to be paid": {customer: subscribed("trial", payment.Trialing),
			changes: to("pro"), err: payment.ErrMethodRequired},
		"unless it costs nothing": {customer: subscribed("trial", payment.Trialing),
			changes: to("free"), ends: true},
		"another plan with a trial keeps it": {customer: subscribed("trial", payment.Trialing), changes: to("two")},
		"so does another quantity": {customer: subscribed("trial", payment.Trialing),
			changes: payment.Changes{Quantity: &count}},
		"the caller pays from now on": {customer: subscribed("trial", payment.Trialing, card("a", 1)),
			changes: payment.Changes{EndTrial: true}, ends: true},
		"if there is a card": {customer: subscribed("trial", payment.Trialing),
			changes: payment.Changes{EndTrial: true}, err: payment.ErrMethodRequired},
		"without a trial there is nothing to do": {customer: active("trial", card("a", 1)),
			changes: payment.Changes{EndTrial: true}, done: true},
		"and another plan ends none": {customer: active("basic", card("a", 1)),
			changes: payment.Changes{Plan: plan("pro"), EndTrial: true}},
	} {
		t.Run(name, func(t *testing.T) {
			isDone, err := tt.customer.ChangeSubscription(owner, "key", nil, tt.changes, all)
			require.ErrorIs(t, err, tt.err)
			require.Equal(t, "done", isDone, tt.done)
			op := tt.customer.Pending
			assert.That(t, err != nil || isDone || op.EndTrial == tt.ends, "%+v", op)
		})
	}
}

func TestASubscriptionThatWasPausedWithItsTrialIsResumedWithACard(t *testing.T) {
	yes, no := true, false
	for name, tt := range map[string]struct {
		customer *payment.Customer
		changes  payment.Changes
		err      error
	}{
		"with a card":     {subscribed("trial", payment.Paused, card("a", 1)), payment.Changes{Pause: &no}, nil},
		"not without one": {subscribed("trial", payment.Paused), payment.Changes{Pause: &no}, payment.ErrMethodRequired},
		"nothing else changes it": {subscribed("trial", payment.Paused, card("a", 1)), payment.Changes{Pause: &yes},
			payment.ErrSubscriptionNotActive},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tt.customer.ChangeSubscription(owner, "key", nil, tt.changes, plans)
			require.ErrorIs(t, err, tt.err)
			op := tt.customer.Pending
			assert.That(t, err != nil || (op != nil && op.Pause != nil && !*op.Pause), "%+v", op)
		})
	}
}
