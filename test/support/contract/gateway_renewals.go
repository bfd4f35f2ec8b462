package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func gatewayRenewalActions(t *testing.T, g GatewayStage) {
	c, h := g.overdue(t, "3155")
	a := h.Action
	require.That(t, a != nil && a.Type == payment.ConfirmPayment && !a.ClientSecret.IsZero(), "%+v", h)
	previous, _ := g.paid(t, c)
	g.Authenticate(t, c, a)
	if current := g.only(t, c); current.Status != payment.Active || current.Action != nil {
		t.Errorf("%+v", current)
	}
	next, _ := g.paid(t, c)
	assert.That(t, next == previous+2*g.Plans[0].Price.Amount, "paid %d, before %d", next, previous)
	t.Run("a renewal that is declined has none", func(t *testing.T) {
		_, h := g.overdue(t, "0341")
		assert.That(t, h.Action == nil, "%+v", h)
	})
	t.Run("and one that another card has paid has none", func(t *testing.T) {
		c, _ := g.overdue(t, "3155")
		must(t, g.SetDefault(t.Context(), key(), c, g.AddCard(t, c, "4242")))
		g.Advance(t, 4*24*time.Hour)
		current := g.only(t, c)
		assert.That(t, current.Status == payment.Active && current.Action == nil, "%+v", current)
	})
}
