package payment_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestARetiredPlanIsKeptAndNotBought(t *testing.T) {
	retiredPlan := pro
	retiredPlan.Retired, retiredPlan.Limits = true, map[string]int64{"members": 3}
	sold, seats := payment.Plans{basic, retiredPlan}, 3
	t.Run("nobody subscribes to it", func(t *testing.T) {
		_, err := customer(card("pm_1", 1)).Subscribe(owner, now, "k", one("pro"), sold)
		require.ErrorIs(t, err, payment.ErrPlanUnavailable)
	})
	t.Run("nobody changes to it", func(t *testing.T) {
		_, err := active("basic", card("pm_1", 1)).ChangeSubscription(owner, "k", nil,
			payment.Changes{Plan: &retiredPlan.ID}, sold)
		require.ErrorIs(t, err, payment.ErrPlanUnavailable)
	})
	t.Run("who has it buys more seats of it", func(t *testing.T) {
		c := active("pro", card("pm_1", 1))
		_, err := c.ChangeSubscription(owner, "k", nil, payment.Changes{Quantity: &seats}, sold)
		require.NoError(t, err)
	})
	t.Run("who has it keeps its limits", func(t *testing.T) {
		heldPlan := sold.Entitling(active("pro").Subscription, nil, now, time.Hour)
		limits := sold.Limits(quota.Amounts{}, heldPlan)
		assert.That(t, limits.Get("members") == 3, "%+v", limits)
	})
	t.Run("no limit advises to buy it", func(t *testing.T) {
		others := sold.Limits(quota.Amounts{}, nil).Others
		assert.That(t, len(others) == 1 && others[0].ID == "basic", "%+v", others)
	})
	t.Run("only who has it sees it", func(t *testing.T) {
		all := sold.Offered("pro")
		assert.That(t, len(all) == 2, "%+v", all)
		all = sold.Offered("basic")
		assert.That(t, len(all) == 1 && all[0].ID == "basic", "%+v", all)
	})
}
