package payment_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAPlanThatIsPaidByTransfer(t *testing.T) {
	wire, large := pro, pro
	wire.ID, wire.PriceRef, wire.DaysUntilDue, wire.TrialDays = "wire", "price_wire", 30, 14
	large.ID, large.PriceRef, large.DaysUntilDue, large.Price.Amount = "large", "price_large", 60, 9900
	all := append(payment.Plans{wire, large}, plans...)
	t.Run("needs no payment method, not even for its trial", func(t *testing.T) {
		c := customer()
		_, err := c.Subscribe(owner, now, "key", payment.SubscribeRequest{
			Plan: "wire", Quantity: 2, Trials: payment.TrialRules{CardRequired: true},
		}, all)
		require.NoError(t, err)
		o := c.Pending.Order(*c.Pending.Sold)
		assert.That(t, o.Plan.DaysUntilDue == 30 && o.TrialDays == 14 && o.TrialEnd == "", "%+v", o)
	})
	t.Run("ends its trial without one", func(t *testing.T) {
		c := subscribed("wire", payment.Trialing)
		_, err := c.ChangeSubscription(owner, "key", nil, payment.Changes{EndTrial: true}, all)
		require.NoError(t, err)
		assert.That(t, c.Pending.EndTrial, "%+v", c.Pending)
	})
	t.Run("has no checkout page", func(t *testing.T) {
		_, err := customer().StartCheckout(owner, now, payment.CheckoutRequest{Plan: "wire", Quantity: 1}, all)
		require.ErrorIs(t, err, payment.ErrPlanUnavailable)
	})
	for name, tt := range map[string]struct {
		from, to payment.PlanID
		err      error
	}{
		"is changed to another one":       {"wire", "large", nil},
		"is not changed to a card":        {"wire", "year", payment.ErrPlanUnavailable},
		"does not follow what is charged": {"basic", "large", payment.ErrPlanUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := active(tt.from, card("a", 1)).ChangeSubscription(owner, "key", nil, to(tt.to), all)
			require.ErrorIs(t, err, tt.err)
		})
	}
}
