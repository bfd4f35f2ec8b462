package payments

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/require"
)

// addition is what someone has set for a subscription at the gateway, without Atrium: no call may lose it.
type addition struct {
	items map[string]int // quantities, by price
	taxes []string
	end   time.Time // zero if no end was set, or if a caller may have changed it since
	price string    // of the plan's item; "" likewise
}

// doElsewhere does something in the gateway's dashboard or portal. In half of the cases a call follows at once, before
// Atrium can know of it.
func (m *modelWalk) doElsewhere(t *testing.T, key string) (name string, err error) {
	t.Helper()
	if m.api.Deleted(m.customer) || m.mirror(t).Pending != nil { // a call in progress may still take effect
		return "nothing", nil
	}
	h := m.live()
	if h == nil {
		if m.random.IntN(3) > 0 {
			return "nothing", nil
		}
		m.api.Subscribe(m.customer, modelPlans[m.random.IntN(len(modelPlans))].PriceRef)
		return "someone subscribes", nil
	}
	if (h.Status != payment.Active && h.Status != payment.Trialing) || h.Confirming { // the gateway has further rules
		return "nothing", nil
	}
	name = "nothing"
	for n := 0; n < 10 && name == "nothing"; n++ {
		name = m.touch(h)
	}
	m.model.see(m.api.Subscriptions(m.customer), m.now().At)
	m.additions[h.ID].taxes = m.api.Taxes(string(h.ID))
	if m.random.IntN(2) == 0 {
		_, err = m.change(t, key)
		name += ", and a change"
	}
	return name, err
}

// live returns the subscription that has not ended, or nil.
func (m *modelWalk) live() *payment.GatewaySubscription {
	for _, h := range m.api.Subscriptions(m.customer) {
		if h.Status.Live() {
			return &h
		}
	}
	return nil
}

// touch changes a subscription as someone may, and notes what must stay.
func (m *modelWalk) touch(h *payment.GatewaySubscription) (name string) {
	id, isScheduled := string(h.ID), m.api.Scheduled(string(h.ID))
	a := m.additions[h.ID]
	if a == nil {
		a = &addition{items: map[string]int{}}
		m.additions[h.ID] = a
	}
	switch n := m.random.IntN(7); {
	case n == 0 && a.items["price_extra"] == 0 && !isScheduled: // the phases of a schedule would not have it
		a.items["price_extra"] = 1 + m.random.IntN(3)
		m.api.AddItem(id, "price_extra", int64(a.items["price_extra"]))
		return "someone adds an item"
	case n == 1 && !isScheduled:
		m.api.Tax(id, fmt.Sprint("txr_", m.random.IntN(9)), fmt.Sprint("txr_item_", m.random.IntN(9)))
		return "someone sets tax rates"
	case n == 2 && !isScheduled && h.EndsAt.IsZero():
		a.end = h.PeriodEnd
		m.api.CancelAt(id, a.end)
		return "the portal cancels"
	case n == 3 && !isScheduled:
		a.price = []string{"price_basic", "price_pro", "price_unsold"}[m.random.IntN(3)]
		m.model.move(*h, a.price)
		m.api.MovePrice(id, a.price)
		return "someone sets a price"
	case n == 4 && !h.Paused:
		m.api.PauseCollection(id)
		return "someone pauses"
	case n == 5 && !isScheduled && h.EndsAt.IsZero() && h.Status == payment.Active:
		steps := []string{"price_basic", "price_pro", "price_unsold", "price_basic"}
		first, ends := m.random.IntN(3), m.random.IntN(2) == 0
		m.api.Plan(id, steps[first:first+2], 1+m.random.IntN(2), ends)
		a.price, a.end = "", time.Time{}
		if ends {
			a.end = m.live().EndsAt
		}
		return "someone plans"
	case n == 6 && len(m.drafts) < 3:
		m.drafts = append(m.drafts, m.api.Draft(m.customer, payment.Money{Amount: 500000, Currency: "usd"}))
		return "someone drafts an invoice"
	}
	return "nothing"
}

// mayEnd notes that a call has asked for the live subscription's end or its continuation.
func (m *modelWalk) mayEnd() {
	for _, a := range m.additions {
		a.end, a.price = time.Time{}, "" // an undone end restores the plan that was to come
	}
}

// mayResell notes that a call has asked for another plan.
func (m *modelWalk) mayResell() {
	for _, a := range m.additions {
		a.price = ""
	}
}

// checkAdditions fails t if what someone has set for a subscription is not there any more.
func (m *modelWalk) checkAdditions(t *testing.T, holdings []payment.GatewaySubscription, occasion string) {
	t.Helper()
	for _, h := range holdings {
		a := m.additions[h.ID]
		if a == nil || !h.Status.Live() {
			continue
		}
		for price, quantity := range a.items {
			n := slices.IndexFunc(h.Items, func(i payment.Item) bool { return i.Rate.Ref == price })
			require.That(t, n >= 0 && h.Items[n].Quantity == quantity, "%s: want %d of %s in %+v", occasion, quantity,
				price, h.Items)
		}
		require.That(t, a.end.IsZero() || h.EndsAt.Equal(a.end), "%s: the end was set to %s, and is %s", occasion,
			a.end, h.EndsAt)
		require.That(t, a.price == "" || h.Rate.Ref == a.price, "%s: the price was set to %s, and is %s", occasion,
			a.price, h.Rate.Ref)
		taxes := m.api.Taxes(string(h.ID))
		require.That(t, slices.Equal(taxes, a.taxes), "%s: the tax rates were %v, and are %v", occasion, a.taxes, taxes)
	}
}
