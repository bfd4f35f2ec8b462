package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func gatewayAdjustments(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	price := 2 * g.Plans[0].Price.Amount
	t.Run("a subscription begins free of charge, for some months", func(t *testing.T) {
		free, err := g.Free(ctx, 2)
		must(t, err)
		c, o := g.customer(t), g.order(0)
		o.Promotion = &free
		h := g.mustSubscribe(t, c, o)
		assert.That(t, h.Status == payment.Active && h.Discount != nil && h.Discount.Percent == 10000, "%+v", h)
		must(t, g.SetDefault(ctx, key(), c, g.AddCard(t, c, "4242")))
		g.Advance(t, 32*24*time.Hour)
		g.wantPaid(t, c, 0)
		g.Advance(t, 32*24*time.Hour)
		g.wantPaid(t, c, price)
	})
	t.Run("a subscription becomes free of charge for good", func(t *testing.T) {
		free, err := g.Free(ctx, 0)
		must(t, err)
		again, err := g.Free(ctx, 0)
		must(t, err)
		same(t, "the second time", again, free)
		c := g.customer(t, "4242")
		h := g.mustSubscribe(t, c, g.order(0))
		g.mustAmend(t, c, h.ID, payment.Amendment{Promotion: &free})
		got := g.only(t, c)
		assert.That(t, got.Discount != nil && got.Discount.Percent == 10000 && got.Discount.End.IsZero(), "%+v", got)
		g.Advance(t, 100*24*time.Hour)
		g.wantPaid(t, c, price)
	})
	t.Run("a trial ends later", func(t *testing.T) {
		c, o := g.customer(t, "4242"), g.order(0)
		o.TrialDays = 14
		h := g.mustSubscribe(t, c, o)
		until := h.TrialEnd.AddDate(0, 0, 7)
		g.mustAmend(t, c, h.ID, payment.Amendment{TrialUntil: until})
		g.Advance(t, 20*24*time.Hour)
		got := g.only(t, c)
		assert.That(t, got.Status == payment.Trialing && got.TrialEnd.Equal(until), "%+v", got)
		g.wantPaid(t, c, 0)
		g.Advance(t, 2*24*time.Hour)
		g.wantPaid(t, c, price)
	})
	t.Run("a credit is granted once per key, and deducted", func(t *testing.T) {
		c, k := g.customer(t, "4242"), key()
		credit := payment.Money{Amount: price - 1, Currency: g.Plans[0].Price.Currency}
		g.Lose(1)
		for range 2 {
			if err := g.Grant(ctx, k, c, credit, "Sorry"); err != nil && !payment.OutcomeUnknown(err) {
				t.Fatal(err)
			}
		}
		w, err := g.Wallet(ctx, c)
		must(t, err)
		same(t, "credit", w.Credit, credit)
		g.mustSubscribe(t, c, g.order(0))
		g.wantPaid(t, c, 1)
		err = g.Grant(ctx, key(), c, payment.Money{Amount: 1, Currency: "chf"}, "Sorry")
		assert.That(t, err != nil && !payment.OutcomeUnknown(err), "another currency: %v", err)
	})
}
