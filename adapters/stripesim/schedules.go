package stripesim

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
	ID, Status   string
	Subscription string // its identifier
	subscription *subscription
	Metadata     map[string]string
	Created      time.Time
	Ends         bool // the subscription ends with the last phase (end_behavior)
	Phases       []phase
	Current      int // index of the current phase
}

type phase struct {
	terms
	Start, End time.Time
	Metadata   map[string]string
	Discount   *discount // that the subscription has already
	Promotion  string    // that begins with the phase; "" if none does
}

func (c *schedule) show() map[string]any {
	phases := []any{}
	for _, p := range c.Phases {
		phases = append(phases, map[string]any{
			"start_date": p.Start.Unix(), "end_date": p.End.Unix(), "metadata": p.Metadata,
			"proration_behavior": "none", "discounts": p.showDiscounts(),
			"items": p.showPhaseItems(), "default_tax_rates": showRates(p.Rates),
		})
	}
	behaviour := "release"
	if c.Ends {
		behaviour = "cancel"
	}
	out := map[string]any{
		"id": c.ID, "object": "subscription_schedule", "status": c.Status, "customer": c.subscription.Customer,
		"created": c.Created.Unix(), "metadata": c.Metadata,
		"end_behavior": behaviour, "phases": phases, "livemode": false, "subscription": nil, "current_phase": nil,
	}
	if c.Status == "active" {
		p := c.Phases[c.Current]
		out["subscription"], out["current_phase"] = c.subscription.ID,
			map[string]any{"start_date": p.Start.Unix(), "end_date": p.End.Unix()}
	}
	return out
}

func (s *account) schedule(id string) *schedule {
	for _, u := range s.subscriptions {
		if u.schedule != nil && u.schedule.ID == id {
			return u.schedule
		}
	}
	return nil
}

// createSchedule is POST /v1/subscription_schedules from a subscription, whose terms become the first phase.
func (s *account) createSchedule(f form, _ *http.Request) any {
	u := s.subscription(f.Get("from_subscription"))
	switch {
	case u == nil:
		return missing(400, "from_subscription")
	// what becomes of an end that is set is not documented
	case !u.live(), u.schedule != nil, u.CancelAtPeriodEnd, !u.CancelAt.IsZero():
		return invalid("from_subscription")
	}
	u.schedule = &schedule{
		ID: s.id("sub_sched"), Status: "active", subscription: u, Metadata: map[string]string{}, Created: s.now(),
		Phases: []phase{{terms: u.terms.clone(), Discount: u.Discount, Start: u.Start, End: u.End,
			Metadata: map[string]string{}}},
	}
	return u.schedule.show()
}

// updateSchedule replaces the phases from the current one on, which must begin when it began.
func (s *account) updateSchedule(f form, r *http.Request) any {
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
		moment := fmt.Sprintf("phases[%d]", n)
		sold, refused := s.sold(f, moment+"[items]", &c.subscription.terms)
		if refused != nil {
			return refused
		}
		p := phase{terms: sold, Metadata: f.members(moment + "[metadata]"),
			Start: time.Unix(f.number(moment+"[start_date]"), 0).UTC()}
		for r := 0; f.Has(fmt.Sprintf("%s[default_tax_rates][%d]", moment, r)); r++ {
			p.Rates = append(p.Rates, f.Get(fmt.Sprintf("%s[default_tax_rates][%d]", moment, r)))
		}
		if end := f.number(moment + "[end_date]"); end != 0 {
			p.End = time.Unix(end, 0).UTC()
		} else {
			count := int(f.number(moment + "[duration][interval_count]"))
			p.End = payment.Interval(f.Get(moment+"[duration][interval]")).Advance(p.Start, count, p.Start.Day())
		}
		if (n == 0 && !p.Start.Equal(c.Phases[c.Current].Start)) || (n > 0 && !p.Start.Equal(phases[n-1].End)) ||
			!p.End.After(p.Start) {
			return invalid(moment + "[start_date]")
		}
		if refused := s.phaseDiscount(&p, c.subscription, f, moment); refused != nil {
			return refused
		}
		phases = append(phases, p)
	}
	if len(phases) == 0 {
		return invalid("phases")
	}
	current := phases[0] // the subscription gets its terms at once; what it does not name ends
	s.sell(c.subscription, current.terms, s.now())
	c.subscription.Discount, c.Ends = current.Discount, behaviour == "cancel"
	c.Phases = append(c.Phases[:c.Current], phases...)
	maps.Copy(c.Metadata, f.members("metadata"))
	return c.show()
}

func (s *account) releaseSchedule(_ form, r *http.Request) any {
	c := s.schedule(r.PathValue("id"))
	if c == nil {
		return missing(404, "schedule")
	}
	c.release()
	return c.show()
}

func (c *schedule) release() {
	c.Status, c.subscription.schedule = "released", nil
}

// enter starts the phase that begins at a time, and releases u after the last one.
func (s *account) enter(c *schedule, u *subscription, moment time.Time) {
	for n, p := range c.Phases {
		if n > c.Current && p.Start.Equal(moment) {
			c.Current = n
			if p.Plan.Interval != u.Plan.Interval { // a month after weeks begins on any day
				u.Anchor = moment.Day()
			}
			s.sell(u, p.terms, moment)
			u.Discount = p.Discount
			if p.Promotion != "" {
				u.Discount = begin(p.Promotion, "di_"+c.ID+strconv.Itoa(n), moment)
			}
			maps.Copy(u.Metadata, p.Metadata)
			return
		}
	}
	if !moment.Before(c.Phases[len(c.Phases)-1].End) {
		c.release()
	}
}
