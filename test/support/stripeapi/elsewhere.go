package stripeapi

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// What people do in the dashboard or in the customer portal, without Atrium.

// edit changes a subscription.
func (s *Server) edit(id string, change func(*subscription)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.subscription(id))
}

// CancelAt makes a subscription end at a time, as the customer portal does for the end of the period in flexible
// billing (https://docs.stripe.com/billing/subscriptions/billing-mode/compare).
func (s *Server) CancelAt(id string, at time.Time) {
	s.edit(id, func(u *subscription) { u.cancelAt = at })
}

// CancelAtPeriodEnd makes a subscription end with its period, as the dashboard does.
func (s *Server) CancelAtPeriodEnd(id string) {
	s.edit(id, func(u *subscription) { u.cancelAtPeriodEnd = true })
}

// AddItem adds an item with a price to a subscription, without billing it. The price can be a metered one.
func (s *Server) AddItem(id, price string, quantity int64) {
	s.edit(id, func(u *subscription) {
		e := extra{id: s.id("si"), quantity: quantity, taxed: []string{"txr_addon"}}
		if metered := s.meteredPrice(price); metered != nil {
			e.price, e.metered, e.quantity = *metered, true, 0
		} else {
			e.price = *s.price(price)
		}
		u.extras = append(u.extras, e)
	})
}

// MovePrice gives the plan's item of a subscription another price, without billing it.
func (s *Server) MovePrice(id, price string) {
	s.edit(id, func(u *subscription) { u.plan = *s.price(price) })
}

// Sell adds a monthly price, which no plan of Atrium has.
func (s *Server) Sell(ref string, amount int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plans = append(slices.Clone(s.plans), payment.Plan{ID: payment.PlanID(ref), PriceRef: ref,
		Price: payment.Money{Amount: amount, Currency: "usd"}, Interval: payment.Month, IntervalCount: 1})
}

// Reprice changes, for the stand-in only, what a price costs: real prices cannot change, but a plan can be
// configured with the wrong one. It archives the price if the amount is 0.
func (s *Server) Reprice(ref string, amount int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plans = slices.Clone(s.plans)
	p := s.price(ref)
	if p.Unavailable = amount == 0; amount > 0 {
		p.Price.Amount = amount
	}
}

// Tax sets the tax rates of a subscription by hand, for all items and for that of its plan.
func (s *Server) Tax(id, rate, ofItem string) {
	s.edit(id, func(u *subscription) { u.rates, u.taxed = []string{rate}, []string{ofItem} })
}

// Taxes returns the tax rates of a subscription, and those of all its items.
func (s *Server) Taxes(id string) (rates []string) {
	s.edit(id, func(u *subscription) {
		rates = append(append(rates, u.rates...), u.taxed...)
		for _, e := range u.extras {
			rates = append(rates, e.taxed...)
		}
	})
	return rates
}

// PauseCollection pauses a subscription.
func (s *Server) PauseCollection(id string) {
	s.edit(id, func(u *subscription) { u.paused = true })
}

// Plan makes a schedule for a subscription: it has what it has until the end of its period, then for some periods each
// the price of steps, and ends then if ends says so.
func (s *Server) Plan(id string, steps []string, periods int, ends bool) {
	s.edit(id, func(u *subscription) {
		c := &schedule{id: s.id("sub_sched"), status: "active", of: u, metadata: map[string]string{}, created: s.now(),
			ends: ends}
		c.phases = []phase{{terms: u.terms.clone(), start: u.start, end: u.end, metadata: map[string]string{},
			discount: u.discount}}
		for _, price := range steps {
			p := c.phases[len(c.phases)-1]
			p.terms, p.start = p.terms.clone(), p.end
			p.plan = *s.price(price)
			for range periods {
				p.end = payment.Month.Advance(p.end, 1, u.anchor)
			}
			c.phases = append(c.phases, p)
		}
		u.schedule = c
	})
}
