package stripesim

import (
	"net/http"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// showPause shows whether payment is paused, and why the subscription is cancelled.
func (u *subscription) showPause(out map[string]any) {
	out["pause_collection"] = nil
	if u.Paused {
		out["pause_collection"] = map[string]any{"behavior": "void", "resumes_at": nil}
	}
	out["cancellation_details"] = map[string]any{
		"feedback": orNull(string(u.Cancellation.Feedback)), "comment": orNull(u.Cancellation.Comment), "reason": nil,
	}
}

// feedback are the values of cancellation_details.feedback.
var feedback = []string{
	"", "customer_service", "low_quality", "missing_features", "other", "switched_service", "too_complex",
	"too_expensive", "unused",
}

// explain stores why a subscription is cancelled.
func (u *subscription) explain(f form) {
	if said := "cancellation_details[feedback]"; f.Has(said) {
		u.Cancellation.Feedback = payment.Feedback(f.Get(said))
	}
	if said := "cancellation_details[comment]"; f.Has(said) {
		u.Cancellation.Comment = f.Get(said)
	}
}

// pause pauses a subscription or resumes it. With an anchor of now, which is accepted only together with resuming, a
// new period begins, which is charged (https://docs.stripe.com/billing/subscriptions/billing-cycle).
func (s *account) pause(u *subscription, f form, now time.Time) error {
	restarts := f.Has("billing_cycle_anchor")
	switch {
	case !slices.Contains(feedback, f.Get("cancellation_details[feedback]")):
		return invalid("cancellation_details[feedback]")
	case f.Has("pause_collection[behavior]"):
		if f.Get("pause_collection[behavior]") != "void" {
			return invalid("pause_collection[behavior]") // the one that is modelled
		}
		u.Paused = true
		return nil
	case !f.Has("pause_collection"):
		if restarts {
			return invalid("billing_cycle_anchor")
		}
		return nil
	case f.Get("pause_collection") != "", restarts && f.Get("billing_cycle_anchor") != "now",
		restarts && f.Get("proration_behavior") != "none":
		return invalid("pause_collection")
	}
	previous := *u
	if u.Paused = false; !restarts {
		return nil
	}
	u.Anchor, u.Start = now.Day(), now
	u.End = u.Plan.Interval.Advance(now, u.Plan.IntervalCount, u.Anchor)
	cost, c := u.cost(now), s.customer(u.Customer)
	if cost+s.tax(u, cost) > c.Credit {
		if decline, asks := s.wouldDecline(u, attempt{present: true}); decline != "" || asks {
			*u = previous
			return s.refuse(decline, asks)
		}
	}
	s.billPeriod(u, attempt{present: true}, now)
	return nil
}

// skip begins a paused subscription's period. Its invoice is void, and uses no credit.
func (s *account) skip(u *subscription, moment time.Time) {
	u.Start, u.End = moment, u.Plan.Interval.Advance(moment, u.Plan.IntervalCount, u.Anchor)
	i := &invoice{
		ID: s.id("in"), Number: s.invoiceNumber(u), Customer: u.Customer, Subscription: u.ID,
		Currency: u.Plan.Price.Currency,
		Status:   "void", BilledTo: s.customer(u.Customer).billedTo(), Total: u.amount(), Due: u.amount(),
		Start: u.Start, End: u.End, Created: s.now(),
	}
	s.invoices, u.latest = append(s.invoices, i), i
}

// resume begins a period of a subscription whose trial ended without a payment method, and charges it
// (https://docs.stripe.com/api/subscriptions/resume).
func (s *account) resume(f form, r *http.Request) any {
	u, now := s.subscription(r.PathValue("id")), s.now()
	switch {
	case u == nil:
		return missing(404, "id")
	case u.Status != "paused", f.Get("billing_cycle_anchor") != "now":
		return invalid("id")
	}
	amount := u.beginPaying(now)
	if i := s.bill(u, amount, attempt{present: true}); i.Status != "paid" && !i.onTheWay() {
		u.Status = "past_due"
	}
	u.spend(now)
	return s.showSubscription(u, f.expanded())
}
