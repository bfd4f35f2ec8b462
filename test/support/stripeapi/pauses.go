package stripeapi

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// showPause shows whether payment is paused, and why the subscription is cancelled.
func (u *subscription) showPause(out map[string]any) {
	out["pause_collection"] = nil
	if u.paused {
		out["pause_collection"] = map[string]any{"behavior": "void", "resumes_at": nil}
	}
	out["cancellation_details"] = map[string]any{
		"feedback": orNull(string(u.cancellation.Feedback)), "comment": orNull(u.cancellation.Comment), "reason": nil,
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
		u.cancellation.Feedback = payment.Feedback(f.Get(said))
	}
	if said := "cancellation_details[comment]"; f.Has(said) {
		u.cancellation.Comment = f.Get(said)
	}
}

// pause pauses a subscription or resumes it. With an anchor of now, which is accepted only together with resuming, a
// new period begins, which is charged (https://docs.stripe.com/billing/subscriptions/billing-cycle).
func (s *Server) pause(u *subscription, f form, now time.Time) *refusal {
	restarts := f.Has("billing_cycle_anchor")
	refused := func(param string) *refusal {
		r := invalid(param)
		return &r
	}
	switch {
	case !slices.Contains(feedback, f.Get("cancellation_details[feedback]")):
		return refused("cancellation_details[feedback]")
	case f.Has("pause_collection[behavior]"):
		if f.Get("pause_collection[behavior]") != "void" {
			return refused("pause_collection[behavior]") // the one that is modelled
		}
		u.paused = true
		return nil
	case !f.Has("pause_collection"):
		if restarts {
			return refused("billing_cycle_anchor")
		}
		return nil
	case f.Get("pause_collection") != "", restarts && f.Get("billing_cycle_anchor") != "now",
		restarts && f.Get("proration_behavior") != "none":
		return refused("pause_collection")
	}
	was := *u
	if u.paused = false; !restarts {
		return nil
	}
	u.anchor, u.start = now.Day(), now
	u.end = u.plan.Interval.Advance(now, u.plan.IntervalCount, u.anchor)
	cost, c := u.cost(now), s.customer(u.customer)
	if cost+s.tax(u, cost) > c.credit {
		if decline, asks := s.wouldDecline(u, true); decline != "" || asks {
			*u = was
			if asks {
				return &refusal{402, "card_error", "subscription_payment_intent_requires_action", "", ""}
			}
			return &refusal{402, "card_error", "card_declined", decline, ""}
		}
	}
	s.billPeriod(u, true, now)
	return nil
}

// skip begins a period of a paused subscription. Its invoice is void, and uses no credit.
func (s *Server) skip(u *subscription, at time.Time) {
	u.start, u.end = at, u.plan.Interval.Advance(at, u.plan.IntervalCount, u.anchor)
	i := &invoice{
		id: s.id("in"), number: "STANDIN-" + strconv.Itoa(len(s.invoices)+1), customer: u.customer, subscription: u.id,
		status: "void", billedTo: s.customer(u.customer).billedTo(), total: u.amount(), due: u.amount(), start: u.start,
		end: u.end, created: s.now(),
	}
	s.invoices, u.latest = append(s.invoices, i), i
}

// resume begins a period of a subscription whose trial ended without a payment method, and charges it
// (https://docs.stripe.com/api/subscriptions/resume).
func (s *Server) resume(f form, r *http.Request) any {
	u, now := s.subscription(r.PathValue("id")), s.now()
	switch {
	case u == nil:
		return missing(404, "id")
	case u.status != "paused", f.Get("billing_cycle_anchor") != "now":
		return invalid("id")
	}
	amount := u.beginPaying(now)
	if s.bill(u, amount, true).status != "paid" {
		u.status = "past_due"
	}
	u.spend(now)
	return u.show(f.expanded())
}
