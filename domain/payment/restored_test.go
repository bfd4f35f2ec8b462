package payment_test

import (
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAnUndoneCancellationKeepsTheChangeAtTheRenewal(t *testing.T) {
	yes, negative := true, false
	dearer := basic
	dearer.PriceRef, dearer.Price.Amount = "price_basic_2", 9900
	retiredPlan := basic
	retiredPlan.Retired = true
	replacedPlans := func(p payment.Plan) payment.Plans { return slices.Clone(plans).Replace(p) }
	pro2 := func(ends bool) payment.GatewaySubscription {
		h := holding("pro", item("price_pro", 2900, 2))
		h.CancelAtPeriodEnd = ends
		return h
	}
	for name, tt := range map[string]struct {
		seen      []payment.GatewaySubscription // what is seen in between
		plans     payment.Plans
		changes   payment.Changes
		elsewhere bool
		plan      payment.PlanID
		quantity  int
		waits     bool
	}{
		"it is back": {plans: plans, plan: "basic", quantity: 1, waits: true},
		"also after it was read": {
			seen: []payment.GatewaySubscription{pro2(true)}, plans: plans, plan: "basic", quantity: 1, waits: true},
		"not if it was undone before": {
			seen: []payment.GatewaySubscription{pro2(false), pro2(true)}, plans: plans, plan: "pro", quantity: 2},
		"not if it would be charged today":     {plans: replacedPlans(dearer), plan: "pro", quantity: 2},
		"not if the plan is no longer sold":    {plans: replacedPlans(retiredPlan), plan: "pro", quantity: 2},
		"not if someone else has scheduled it": {elsewhere: true, plans: plans, plan: "pro", quantity: 2},
		"not if the call names other terms": {
			plans: plans, changes: payment.Changes{Plan: &year.ID}, plan: "year", quantity: 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := customer(card("a", 1))
			seeSubscriptions(c, owner, []payment.GatewaySubscription{pro2(false)}, plans)
			c.Subscription.Pending = &payment.PendingChange{
				Plan: "basic", Quantity: 1, At: ends, Elsewhere: tt.elsewhere,
			}
			_, err := c.ChangeSubscription(owner, "end", nil, payment.Changes{CancelAtPeriodEnd: &yes}, plans)
			require.NoError(t, err)
			isSettled := c.Settle(owner, "end", c.Look(), []payment.GatewaySubscription{pro2(true)}, plans)
			assert.That(t, isSettled, "it is not settled")
			for _, h := range tt.seen {
				seeSubscriptions(c, owner, []payment.GatewaySubscription{h}, plans)
			}
			ch := tt.changes
			ch.CancelAtPeriodEnd = &negative
			_, err = c.ChangeSubscription(owner, "undo", nil, ch, tt.plans)
			require.NoError(t, err)
			op := c.Pending
			assert.That(t, op.Plan == tt.plan && op.Quantity == tt.quantity && op.AtRenewal == tt.waits &&
				!*op.CancelAtPeriodEnd && op.Resell == (tt.plan != "pro"), "%+v", op)
		})
	}
}
