package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// addOnOrder asks for a quantity of the add-on beside the plan of h.
func addOnOrder(h payment.GatewaySubscription, quantity int) payment.Amendment {
	return payment.Amendment{Item: h.Item, AddOns: []payment.ItemOrder{{Ref: AddOn.Ref, Quantity: quantity}}}
}

// gatewayBundles sells add-ons with a plan.
func gatewayBundles(t *testing.T, g GatewayStage) {
	ctx, plan := t.Context(), g.Plans[0]
	want := map[string]int{AddOn.Ref: 3, plan.PriceRef: 2}
	orders := []payment.ItemOrder{{Ref: AddOn.Ref, Quantity: 3}}
	cost := 2*plan.Price.Amount + 3*AddOn.Price.Amount
	c, k := g.customer(t, "4242"), key()
	for range 2 {
		h, err := g.Subscribe(ctx, k, c, payment.Order{Plan: plan, Quantity: 2, AddOns: orders})
		must(t, err)
		same(t, "plan", h.Plan, plan.ID)
		wantItems(t, h, want)
	}
	g.wantPaid(t, c, cost)
	h := g.afterRenewal(t, c, *g.only(t, c))
	wantItems(t, h, want)
	g.wantPaid(t, c, 2*cost)
	visitor, o := g.customer(t), g.checkout(0)
	o.AddOns = orders
	url, err := g.Checkout(ctx, key(), visitor, o)
	must(t, err)
	same(t, "the page is open", g.CheckOut(t, url, "4242"), true)
	wantItems(t, *g.only(t, visitor), want)
	g.wantPaid(t, visitor, cost)
}

// elsewhereAddOns buys, changes and removes an add-on beside an item that someone else has added.
func elsewhereAddOns(t *testing.T, g GatewayStage) {
	basic := g.Plans[0]
	c, h := g.began(t, basic, 1)
	g.Elsewhere.AddItem(t, h.ID, LaterPrice.Ref, 1)
	h = g.byID(t, c, h.ID)
	p, h := g.priced(t, c, h, addOnOrder(h, 2))
	same(t, "charged for the rest of the period", p.Today.Amount > AddOn.Price.Amount &&
		p.Today.Amount < 2*AddOn.Price.Amount, true)
	wantItems(t, h, map[string]int{LaterPrice.Ref: 1, AddOn.Ref: 2, basic.PriceRef: 1})
	h = g.amend(t, c, h.ID, addOnOrder(h, 3))
	wantItems(t, h, map[string]int{LaterPrice.Ref: 1, AddOn.Ref: 3, basic.PriceRef: 1})
	p, h = g.priced(t, c, h, addOnOrder(h, 1))
	same(t, "what is less is credited", p.Today.Amount == 0 && p.Credit.Amount > 0, true)
	wantItems(t, h, map[string]int{LaterPrice.Ref: 1, AddOn.Ref: 1, basic.PriceRef: 1})
	h = g.amend(t, c, h.ID, payment.Amendment{Resell: true, Quantity: 2})
	wantItems(t, h, map[string]int{LaterPrice.Ref: 1, AddOn.Ref: 1, basic.PriceRef: 2})
	h = g.amend(t, c, h.ID, addOnOrder(h, 0))
	wantItems(t, h, map[string]int{LaterPrice.Ref: 1, basic.PriceRef: 2})
	h = g.amend(t, c, h.ID, addOnOrder(h, 1))
	h = g.afterRenewal(t, c, h)
	wantItems(t, h, map[string]int{LaterPrice.Ref: 1, AddOn.Ref: 1, basic.PriceRef: 2})
	g.amend(t, c, h.ID, g.less(1))
	_, err := g.Amend(t.Context(), key(), c, h.ID, addOnOrder(h, 2))
	wantErr(t, err, payment.ErrChangeScheduled)
	_, err = g.Preview(t.Context(), c, h.ID, payment.Amendment{AddOns: addOnOrder(h, 2).AddOns, Item: h.Item,
		ProrateAt: time.Now()})
	wantErr(t, err, payment.ErrChangeScheduled)
}
