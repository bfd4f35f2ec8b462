package stripeapi

import (
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// change makes u sell another plan from now on, and returns what is due for it: the difference for the rest of the
// period, as of at, or a new period if the interval changes.
func (u *subscription) change(t terms, at, now time.Time) (due int64) {
	was := *u
	left, whole := u.end.Sub(at), u.end.Sub(u.start)
	u.terms = t.clone()
	if u.plan.Interval != was.plan.Interval || u.plan.IntervalCount != was.plan.IntervalCount {
		u.anchor, u.start = now.Day(), now
		u.end = u.plan.Interval.Advance(now, u.plan.IntervalCount, u.anchor)
		cost := u.cost(now)
		if u.endsWithin() { // the period is prorated (https://docs.stripe.com/api/subscriptions/update, cancel_at)
			cost = payment.Prorate(cost, u.cancelAt.Sub(now), u.end.Sub(now))
		}
		return cost - payment.Prorate(was.bought(), left, whole)
	}
	return payment.Prorate(u.cost(now), left, whole) - payment.Prorate(was.bought(), left, whole)
}

// beginPaying ends a trial and begins a period, and returns what it costs
// (https://docs.stripe.com/billing/subscriptions/trials#change-the-trial-end-date).
func (u *subscription) beginPaying(now time.Time) int64 {
	u.status, u.trialEnd, u.anchor, u.start = "active", now, now.Day(), now
	u.end = u.plan.Interval.Advance(now, u.plan.IntervalCount, u.anchor)
	return u.cost(now)
}

// endsWithin reports whether u is set to end within its period.
func (u *subscription) endsWithin() bool { return !u.cancelAt.IsZero() && u.cancelAt.Before(u.end) }

// prorated returns the time for which a change is prorated, which must be in the current period.
func (u *subscription) prorated(f form, name string, now time.Time) (at time.Time, ok bool) {
	if !f.Has(name) {
		return now, true
	}
	at = time.Unix(f.number(name), 0).UTC()
	return at, !at.Before(u.start) && !at.After(u.end)
}

// previewInvoice shows the invoice of a change of a subscription, or the one of its next period
// (https://docs.stripe.com/api/invoices/create_preview).
func (s *Server) previewInvoice(f form, _ *http.Request) any {
	const details = "subscription_details"
	u, c, now := s.subscription(f.Get("subscription")), s.customer(f.Get("customer")), s.now()
	goesOn := f.Get(details + "[cancel_at_period_end]")
	if c := s.schedule(f.Get("schedule")); c != nil { // which goes with no field of the subscription
		if f.Has("subscription") || len(f.under(details)) > 0 || f.Get("schedule_details[end_behavior]") != "release" {
			return invalid("schedule")
		}
		u, goesOn = c.of, "false"
	}
	if f.Has(details+"[cancel_at]") && f.Get(details+"[cancel_at]") == "" && u != nil && !u.cancelAt.IsZero() {
		goesOn = "false"
	}
	switch {
	case u == nil || c == nil || u.customer != c.id:
		return missing(404, "subscription")
	case !u.live():
		return invalid("subscription")
	case f.Has(details+"[cancel_at_period_end]") && u.schedule != nil: // as for a change
		return invalid(details + "[cancel_at_period_end]")
	case u.endsAt(u.end) && goesOn != "false" && f.Get(details+"[proration_behavior]") != "always_invoice":
		return refusal{404, "invalid_request_error", "invoice_upcoming_none", "", ""}
	}
	copied := *u
	if refused := s.previewDiscount(&copied, c, f); refused != nil {
		return *refused
	}
	total := s.nextTotal(copied, f.Has("discounts[0][promotion_code]"))
	if endsTrial := f.Get(details+"[trial_end]") == "now"; f.Has(details+"[items][0][id]") || endsTrial {
		at, inPeriod := u.prorated(f, details+"[proration_date]", now)
		if !inPeriod {
			return invalid(details + "[proration_date]")
		}
		changed, refused := u.clone(), (*refusal)(nil)
		if f.Has(details + "[items][0][id]") {
			changed, refused = s.changed(u, f, details+"[items]")
		}
		if refused != nil {
			return *refused
		}
		due := copied.change(changed, at, now)
		if endsTrial {
			due = copied.beginPaying(now)
		}
		copied.meter = u.meter
		switch f.Get(details + "[proration_behavior]") {
		case "always_invoice":
			total = due
		case "none": // nothing is billed now, so that a discount for one invoice is left
			copied.schedule = nil // which a change releases
			total = s.nextTotal(copied, true)
		default:
			return invalid(details + "[proration_behavior]")
		}
	}
	tax := s.tax(u, total)
	i := &invoice{
		id: "upcoming_" + s.name, customer: c.id, subscription: u.id, status: "draft", tax: tax,
		total: total + tax, due: max(total+tax-c.credit, 0), start: copied.start, end: copied.end, created: now,
	}
	shown := i.show(nil)
	shown["starting_balance"], shown["number"] = -c.credit, nil
	return shown
}

// previewDiscount gives a copy of a subscription the discount that a preview names: that of a promotion code, or none.
func (s *Server) previewDiscount(u *subscription, c *customer, f form) *refusal {
	const param = "discounts[0][promotion_code]"
	if f.Has("discounts") && f.Get("discounts") == "" {
		u.discount = nil
	}
	if !f.Has(param) {
		return nil
	}
	given, refused := s.redeem(c, f.Get(param), param)
	if refused == nil {
		u.discount = given
	}
	return refused
}

// nextTotal returns what the next period of a copy of a subscription costs. promoted says that its discount replaces
// that of its schedule.
func (s *Server) nextTotal(u subscription, promoted bool) int64 {
	u.unbilled = s.used(&u, u.start, u.end)
	if u.schedule == nil || u.schedule.current+1 >= len(u.schedule.phases) {
		used, _ := u.usageCost(u.end)
		return u.cost(u.end) + used
	}
	next := u.schedule.phases[u.schedule.current+1]
	meter := u.meter
	u.terms = next.terms.clone()
	u.meter = meter
	switch {
	case promoted:
	case next.promotion != nil:
		u.discount = &discount{*next.promotion.Discount.Begin("di_preview", u.end), next.promotion}
	default:
		u.discount = next.discount
	}
	used, _ := u.usageCost(u.end)
	return u.cost(u.end) + used
}

// drop discards a pending update, whose invoice was voided.
func (u *subscription) drop() {
	if p := u.pending; p != nil {
		u.pending = nil
		if p.invoice.status == "open" {
			p.invoice.void()
		}
	}
}
