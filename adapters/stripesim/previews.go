package stripesim

import (
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// change makes u sell another plan from now on, and returns what is due for it: the difference for the rest of the
// period, as of at, or a new period if the interval changes.
func (u *subscription) change(t terms, moment, now time.Time) (due int64) {
	previous := *u
	remaining, period := u.End.Sub(moment), u.End.Sub(u.Start)
	u.terms = t.clone()
	if u.Plan.Interval != previous.Plan.Interval || u.Plan.IntervalCount != previous.Plan.IntervalCount {
		u.Anchor, u.Start = now.Day(), now
		u.End = u.Plan.Interval.Advance(now, u.Plan.IntervalCount, u.Anchor)
		cost := u.cost(now)
		if u.endsWithin() { // the period is prorated (https://docs.stripe.com/api/subscriptions/update, cancel_at)
			cost = u.prorate(cost, u.CancelAt.Sub(now), u.End.Sub(now))
		}
		return cost - previous.prorate(previous.bought(), remaining, period)
	}
	return u.prorate(u.cost(now), remaining, period) - previous.prorate(previous.bought(), remaining, period)
}

// prorate returns an amount × remaining / period as it is charged in the currency of u.
func (u *subscription) prorate(amount int64, remaining, period time.Duration) int64 {
	return u.rounded(payment.Prorate(amount, remaining, period))
}

// rounded returns an amount as it is charged in the currency of u.
func (u *subscription) rounded(amount int64) int64 {
	return payment.Money{Amount: amount, Currency: u.Plan.Price.Currency}.Rounded().Amount
}

// beginPaying ends a trial and begins a period, and returns what it costs
// (https://docs.stripe.com/billing/subscriptions/trials#change-the-trial-end-date).
func (u *subscription) beginPaying(now time.Time) int64 {
	u.Status, u.TrialEnd, u.setup, u.Anchor, u.Start = "active", now, nil, now.Day(), now
	u.End = u.Plan.Interval.Advance(now, u.Plan.IntervalCount, u.Anchor)
	return u.cost(now)
}

// endsWithin reports whether u is set to end within its period.
func (u *subscription) endsWithin() bool { return !u.CancelAt.IsZero() && u.CancelAt.Before(u.End) }

// prorated returns the time for which a change is prorated, which must be in the current period.
func (u *subscription) prorated(f form, name string, now time.Time) (moment time.Time, ok bool) {
	if !f.Has(name) {
		return now, true
	}
	moment = time.Unix(f.number(name), 0).UTC()
	return moment, !moment.Before(u.Start) && !moment.After(u.End)
}

// previewInvoice shows the invoice for a subscription's change, or the one for its next period
// (https://docs.stripe.com/api/invoices/create_preview).
func (s *account) previewInvoice(f form, _ *http.Request) any {
	const details = "subscription_details"
	u, c, now := s.subscription(f.Get("subscription")), s.customer(f.Get("customer")), s.now()
	goesOn := f.Get(details + "[cancel_at_period_end]")
	if c := s.schedule(f.Get("schedule")); c != nil { // which goes with no field of the subscription
		if f.Has("subscription") || len(f.members(details)) > 0 ||
			f.Get("schedule_details[end_behavior]") != "release" {
			return invalid("schedule")
		}
		u, goesOn = c.subscription, "false"
	}
	if f.Has(details+"[cancel_at]") && f.Get(details+"[cancel_at]") == "" && u != nil && !u.CancelAt.IsZero() {
		goesOn = "false"
	}
	switch {
	case u == nil || c == nil || u.Customer != c.ID:
		return missing(404, "subscription")
	case !u.live():
		return invalid("subscription")
	case f.Has(details+"[cancel_at_period_end]") && u.schedule != nil: // as for a change
		return invalid(details + "[cancel_at_period_end]")
	case u.endsAt(u.End) && goesOn != "false" && f.Get(details+"[proration_behavior]") != "always_invoice":
		return refusal{404, "invalid_request_error", "invoice_upcoming_none", "", ""}
	}
	copied := *u
	if refused := s.previewDiscount(&copied, c, f); refused != nil {
		return refused
	}
	promotion, _ := f.discounted("discounts")
	total := s.nextTotal(copied, promotion != "")
	if endsTrial := f.Get(details+"[trial_end]") == "now"; f.Has(details+"[items][0][id]") || endsTrial {
		moment, inPeriod := u.prorated(f, details+"[proration_date]", now)
		if !inPeriod {
			return invalid(details + "[proration_date]")
		}
		changed, refused := u.clone(), error(nil)
		if f.Has(details + "[items][0][id]") {
			changed, refused = s.changed(u, f, details+"[items]")
		}
		if refused != nil {
			return refused
		}
		due := copied.change(changed, moment, now)
		if endsTrial {
			due = copied.beginPaying(now)
		}
		copied.Meter = u.Meter
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
		ID: "upcoming_" + s.suffix, Customer: c.ID, Subscription: u.ID, Status: "draft", Tax: tax,
		Currency: u.Plan.Price.Currency,
		Total:    total + tax, Due: max(total+tax-c.Credit, 0), Start: copied.Start, End: copied.End, Created: now,
	}
	view := s.showInvoice(i, nil)
	view["starting_balance"], view["number"] = -c.Credit, nil
	return view
}

// previewDiscount gives a copy of a subscription the discount that a preview names: a promotion code's, or none.
func (s *account) previewDiscount(u *subscription, c *customer, f form) error {
	id, param := f.discounted("discounts")
	if f.Has("discounts") && f.Get("discounts") == "" {
		u.Discount = nil
	}
	if id == "" {
		return nil
	}
	choice, refused := s.redeem(c, id, param)
	if refused == nil {
		u.Discount = choice
	}
	return refused
}

// nextTotal returns what the next period of a copy of a subscription costs. promoted says that its discount replaces
// its schedule's.
func (s *account) nextTotal(u subscription, promoted bool) int64 {
	u.Unbilled = s.used(&u, u.Start, u.End)
	if u.schedule == nil || u.schedule.Current+1 >= len(u.schedule.Phases) {
		usage, _ := u.usageCost(u.End)
		return u.cost(u.End) + usage
	}
	next := u.schedule.Phases[u.schedule.Current+1]
	meter := u.Meter
	u.terms = next.terms.clone()
	u.Meter = meter
	switch {
	case promoted:
	case next.Promotion != "":
		u.Discount = begin(next.Promotion, "di_preview", u.End)
	default:
		u.Discount = next.Discount
	}
	usage, _ := u.usageCost(u.End)
	return u.cost(u.End) + usage
}

// drop discards a pending update, whose invoice was voided.
func (u *subscription) drop() {
	if p := u.Pending; p != nil {
		u.Pending = nil
		if p.invoice.Status == "open" {
			p.invoice.void()
		}
	}
}
