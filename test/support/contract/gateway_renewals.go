package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

func gatewayRenewalActions(t *testing.T, g GatewayStage) {
	c, h := g.overdue(t, "3155")
	a := h.Action
	if a == nil || a.Type != payment.ConfirmPayment || a.ClientSecret.IsZero() {
		t.Fatalf("%+v", h)
	}
	before, _ := g.paid(t, c)
	g.Authenticate(t, c, a)
	if now := g.only(t, c); now.Status != payment.Active || now.Action != nil {
		t.Errorf("%+v", now)
	}
	if after, _ := g.paid(t, c); after != before+2*g.Plans[0].Price.Amount {
		t.Errorf("paid %d, before %d", after, before)
	}
	t.Run("a renewal that is declined has none", func(t *testing.T) {
		if _, h := g.overdue(t, "0341"); h.Action != nil {
			t.Errorf("%+v", h)
		}
	})
	t.Run("and one that another card has paid has none", func(t *testing.T) {
		c, _ := g.overdue(t, "3155")
		must(t, g.SetDefault(t.Context(), key(), c, g.AddCard(t, c, "4242")))
		g.Advance(t, 4*24*time.Hour)
		if now := g.only(t, c); now.Status != payment.Active || now.Action != nil {
			t.Errorf("%+v", now)
		}
	})
}
