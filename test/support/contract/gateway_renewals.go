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
	before, _ := g.paid(t, c)
	g.Authenticate(t, c, a)
	if now := g.only(t, c); now.Status != payment.Active || now.Action != nil {
		t.Errorf("%+v", now)
	}
	after, _ := g.paid(t, c)
	assert.That(t, after == before+2*g.Plans[0].Price.Amount, "paid %d, before %d", after, before)
	t.Run("a renewal that is declined has none", func(t *testing.T) {
		_, h := g.overdue(t, "0341")
		assert.That(t, h.Action == nil, "%+v", h)
	})
	t.Run("and one that another card has paid has none", func(t *testing.T) {
		c, _ := g.overdue(t, "3155")
		must(t, g.SetDefault(t.Context(), key(), c, g.AddCard(t, c, "4242")))
		g.Advance(t, 4*24*time.Hour)
		now := g.only(t, c)
		assert.That(t, now.Status == payment.Active && now.Action == nil, "%+v", now)
	})
}
