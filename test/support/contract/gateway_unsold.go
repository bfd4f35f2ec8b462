package contract

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func elsewhereUnknownPrices(t *testing.T, g GatewayStage) {
	c, h := g.began(t, g.Plans[1], 2)
	g.Elsewhere.MovePrice(t, h.ID, AddOn.Ref)
	h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Quantity: 3})
	assert.That(t, h.Plan == "" && h.Item == "", "%+v", h)
	wantItems(t, h, map[string]int{AddOn.Ref: 3})
	yes := true
	h = g.amend(t, c, h.ID, payment.Amendment{CancelAtPeriodEnd: &yes})
	assert.That(t, h.CancelAtPeriodEnd, "%+v", h)
	t.Run("also if a schedule sets it", func(t *testing.T) {
		c, h := g.began(t, g.Plans[1], 2)
		g.Elsewhere.Schedule(t, h.ID, []string{LaterPrice.Ref}, 2, false)
		h = g.byID(t, c, h.ID)
		assert.That(t, h.Plan == g.Plans[1].ID && h.Pending != nil && h.Pending.Plan == "", "%+v", h)
		same(t, "the plan", g.afterRenewal(t, c, h).Plan, payment.PlanID(""))
	})
	t.Run("a plan that was sold keeps its price when that is configured no more", func(t *testing.T) {
		previous := g.Plans[0]
		previous.PriceRef, previous.Price = OldPrice.Ref, OldPrice.Price
		c, h := g.began(t, g.Plans[1], 2)
		g.amend(t, c, h.ID, payment.Amendment{Resell: true, Plan: previous, AtRenewal: true})
		h = g.afterRenewal(t, c, g.byID(t, c, h.ID))
		same(t, "at the renewal", h.Plan, previous.ID)
		h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Plan: g.Plans[1]})
		same(t, "at once", h.Plan, g.Plans[1].ID)
		previous.PriceRef, previous.Price = LaterPrice.Ref, LaterPrice.Price
		h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Plan: previous})
		same(t, "at once, and then configured no more", h.Plan, previous.ID)
	})
}
