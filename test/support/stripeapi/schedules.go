package stripeapi

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// schedule changes its subscription by phases (https://docs.stripe.com/billing/subscriptions/subscription-schedules).
type schedule struct {
	id, status string
	of         *subscription
	metadata   map[string]string
	created    time.Time
	ends       bool // the subscription ends with the last phase (end_behavior)
	phases     []phase
	current    int // index of the current phase
}

type phase struct {
	terms
	start, end time.Time
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
			"items": p.showPhaseItems(), "default_tax_rates": showRates(p.rates),
		})
	}
	behaviour := "release"
	if c.ends {
		behaviour = "cancel"
	}
	out := map[string]any{
		"id": c.id, "object": "subscription_schedule", "status": c.status, "customer": c.of.customer,
		"created": c.created.Unix(), "metadata": c.metadata,
		"end_behavior": behaviour, "phases": phases, "livemode": false, "subscription": nil, "current_phase": nil,
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
	// what becomes of an end that is set is not documented
	case !u.live(), u.schedule != nil, u.cancelAtPeriodEnd, !u.cancelAt.IsZero():
		return invalid("from_subscription")
	}
	u.schedule = &schedule{
		id: s.id("sub_sched"), status: "active", of: u, metadata: map[string]string{}, created: s.now(),
		phases: []phase{{terms: u.terms.clone(), discount: u.discount, start: u.start, end: u.end,
			metadata: map[string]string{}}},
	}
	return u.schedule.show()
}

// updateSchedule replaces the phases from the current one on, which must begin when it began.
func (s *Server) updateSchedule(f form, r *http.Request) any {
	c := s.schedule(r.PathValue("id"))
	if c == nil {
		return missing(404, "schedule")
	}
	behaviour := f.Get("end_behavior")
	if behaviour != "release" && behaviour != "cancel" {
		return invalid("end_behavior")
	}
	var phases []phase
	for n := 0; f.Has(fmt.Sprintf("phases[%d][items][0][price]", n)); n++ {
		at := fmt.Sprintf("phases[%d]", n)
		sold, refused := s.sold(f, at+"[items]", &c.of.terms)
		if refused != nil {
			return *refused
		}
		p := phase{terms: sold, metadata: f.under(at + "[metadata]"),
			start: time.Unix(f.number(at+"[start_date]"), 0).UTC()}
		for r := 0; f.Has(fmt.Sprintf("%s[default_tax_rates][%d]", at, r)); r++ {
			p.rates = append(p.rates, f.Get(fmt.Sprintf("%s[default_tax_rates][%d]", at, r)))
		}
		if end := f.number(at + "[end_date]"); end != 0 {
			p.end = time.Unix(end, 0).UTC()
		} else {
			count := int(f.number(at + "[duration][interval_count]"))
			p.end = payment.Interval(f.Get(at+"[duration][interval]")).Advance(p.start, count, p.start.Day())
		}
		if (n == 0 && !p.start.Equal(c.phases[c.current].start)) || (n > 0 && !p.start.Equal(phases[n-1].end)) ||
			!p.end.After(p.start) {
			return invalid(at + "[start_date]")
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
	s.sell(c.of, now.terms, s.now())
	c.of.discount, c.ends = now.discount, behaviour == "cancel"
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
			s.sell(u, p.terms, at)
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
