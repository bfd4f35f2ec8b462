package payment_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
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
			changes: payment.Changes{Plan: plan("pro")}, err: payment.ErrMethodRequired},
		"unless it costs nothing": {customer: subscribed("trial", payment.Trialing),
			changes: payment.Changes{Plan: plan("free")}, ends: true},
		"another plan with a trial keeps it": {customer: subscribed("trial", payment.Trialing),
			changes: payment.Changes{Plan: plan("two")}},
		"so does another quantity": {customer: subscribed("trial", payment.Trialing),
			changes: payment.Changes{Quantity: &count}},
		"whoever asks pays from now on": {customer: subscribed("trial", payment.Trialing, card("a", 1)),
			changes: payment.Changes{EndTrial: true}, ends: true},
		"if there is a card": {customer: subscribed("trial", payment.Trialing),
			changes: payment.Changes{EndTrial: true}, err: payment.ErrMethodRequired},
		"without a trial there is nothing to do": {customer: subscribed("trial", payment.Active, card("a", 1)),
			changes: payment.Changes{EndTrial: true}, done: true},
		"and another plan ends none": {customer: subscribed("basic", payment.Active, card("a", 1)),
			changes: payment.Changes{Plan: plan("pro"), EndTrial: true}},
	} {
		t.Run(name, func(t *testing.T) {
			isDone, err := tt.customer.ChangeSubscription(owner, "key", nil, tt.changes, all)
			wantErr(t, err, tt.err)
			if isDone != tt.done {
				t.Fatalf("done = %v", isDone)
			}
			if op := tt.customer.Pending; err == nil && !isDone && op.EndTrial != tt.ends {
				t.Errorf("%+v", op)
			}
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
			wantErr(t, err, tt.err)
			if op := tt.customer.Pending; err == nil && (op == nil || op.Pause == nil || *op.Pause) {
				t.Errorf("%+v", op)
			}
		})
	}
}
