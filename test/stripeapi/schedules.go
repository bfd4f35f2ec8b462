package stripeapi

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
)

// schedule changes its subscription by phases (https://docs.stripe.com/billing/subscriptions/subscription-schedules).
type schedule struct {
	id, status string
	of         *subscription
	metadata   map[string]string
	created    time.Time
	phases     []phase
	current    int // index of the current phase
}

type phase struct {
	start, end time.Time
	plan       billing.Plan
	quantity   int64
	meter      *billing.Plan // whose metered price it has, too
	metadata   map[string]string
	discount   *discount      // that the subscription has already
	promotion  *PromotionCode // that begins with the phase
}

func (c *schedule) show() map[string]any {
	phases := []any{}
	for _, p := range c.phases {
		phases = append(phases, map[string]any{
			"start_date": p.start.Unix(), "end_date": p.end.Unix(), "metadata": p.metadata,
			"proration_behavior": "none", "discounts": p.showDiscounts(),
			"items": []any{map[string]any{"price": p.plan.PriceRef, "quantity": p.quantity,
				"metadata": map[string]string{}}},
		})
	}
	out := map[string]any{
		"id": c.id, "object": "subscription_schedule", "status": c.status, "customer": c.of.customer,
		"created": c.created.Unix(), "metadata": c.metadata,
		"end_behavior": "release", "phases": phases, "livemode": false, "subscription": nil, "current_phase": nil,
	}
	if c.status == "active" {
		p := c.phases[c.current]
		out["subscription"], out["current_phase"] = c.of.id,
			map[string]any{"start_date": p.start.Unix(), "end_date": p.end.Unix()}
	}
	return out
}

func (s *Server) schedule(id string) *schedule {
	for _, u := range s.subscriptions {
		if u.schedule != nil && u.schedule.id == id {
			return u.schedule
		}
	}
	return nil
}

func (s *Server) createSchedule(f form, _ *http.Request) any {
	u := s.subscription(f.Get("from_subscription"))
	switch {
	case u == nil:
		return missing(400, "from_subscription")
	case !u.live(), u.schedule != nil, u.cancelAtPeriodEnd: // the last is not documented
		return invalid("from_subscription")
	}
	u.schedule = &schedule{
		id: s.id("sub_sched"), status: "active", of: u, metadata: map[string]string{}, created: s.now(),
		phases: []phase{{discount: u.discount, start: u.start, end: u.end, plan: u.plan, quantity: u.quantity,
			meter: u.meter, metadata: map[string]string{}}},
	}
	return u.schedule.show()
}

// updateSchedule replaces the phases from the current one on, which must begin when it began.
func (s *Server) updateSchedule(f form, r *http.Request) any {
	c := s.schedule(r.PathValue("id"))
	if c == nil {
		return missing(404, "schedule")
	}
	if f.Get("end_behavior") != "release" {
		return invalid("end_behavior")
	}
	var phases []phase
	for n := 0; f.Has(fmt.Sprintf("phases[%d][items][0][price]", n)); n++ {
		at := fmt.Sprintf("phases[%d]", n)
		plan := s.price(f.Get(at + "[items][0][price]"))
		if plan == nil {
			return missing(400, at+"[items][0][price]")
		}
		p := phase{plan: *plan, quantity: f.number(at + "[items][0][quantity]"), metadata: f.under(at + "[metadata]"),
			start: time.Unix(f.number(at+"[start_date]"), 0).UTC()}
		if end := f.number(at + "[end_date]"); end != 0 {
			p.end = time.Unix(end, 0).UTC()
		} else {
			count := int(f.number(at + "[duration][interval_count]"))
			p.end = billing.Interval(f.Get(at+"[duration][interval]")).Advance(p.start, count, p.start.Day())
		}
		if n == 0 && !p.start.Equal(c.phases[c.current].start) || n > 0 && !p.start.Equal(phases[n-1].end) ||
			!p.end.After(p.start) {
			return invalid(at + "[start_date]")
		}
		var refused *refusal
		if p.meter, refused = s.meteredItem(&subscription{}, f, at+"[items]"); refused != nil {
			return *refused
		}
		if refused := s.phaseDiscount(&p, c.of, f, at); refused != nil {
			return *refused
		}
		phases = append(phases, p)
	}
	if len(phases) == 0 {
		return invalid("phases")
	}
	now := phases[0] // the subscription gets its terms at once; what it does not name ends
	c.of.plan, c.of.quantity, c.of.meter, c.of.discount = now.plan, now.quantity, now.meter, now.discount
	c.phases = append(c.phases[:c.current], phases...)
	maps.Copy(c.metadata, f.under("metadata"))
	return c.show()
}

func (s *Server) releaseSchedule(_ form, r *http.Request) any {
	c := s.schedule(r.PathValue("id"))
	if c == nil {
		return missing(404, "schedule")
	}
	c.release()
	return c.show()
}

func (c *schedule) release() {
	c.status, c.of.schedule = "released", nil
}

// enter starts the phase that begins at a time, and releases u after the last one.
func (s *Server) enter(c *schedule, u *subscription, at time.Time) {
	for n, p := range c.phases {
		if n > c.current && p.start.Equal(at) {
			c.current = n
			u.plan, u.quantity = p.plan, p.quantity
			s.measure(u, p.meter, at)
			u.discount = p.discount
			if p.promotion != nil {
				u.give(&discount{*p.promotion.Discount.Begin("di_"+c.id+strconv.Itoa(n), at), p.promotion})
			}
			maps.Copy(u.metadata, p.metadata)
			return
		}
	}
	if !at.Before(c.phases[len(c.phases)-1].end) {
		c.release()
	}
}
