package stripeapi

import (
	"slices"
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// roll processes everything that is due until now.
func (s *Server) roll(now time.Time) {
	for _, u := range s.subscriptions {
		for s.step(u, now) {
		}
	}
}

// step performs the next scheduled change of u if it is due.
func (s *Server) step(u *subscription, now time.Time) bool {
	switch {
	case u.pending != nil && !now.Before(u.pending.expires):
		u.drop()
	case u.live() && u.endsWithin() && !now.Before(u.cancelAt):
		s.end(u, "canceled")
	case u.status == "incomplete" && !now.Before(u.created.Add(incompleteFor)):
		s.end(u, "incomplete_expired")
	case (u.status == "active" || u.status == "trialing") && !now.Before(u.end):
		s.renew(u)
	case u.status == "past_due" && u.end.Before(u.retryAt) && !now.Before(u.end):
		s.renew(u)
	case u.status == "past_due" && !now.Before(u.retryAt):
		s.retry(u)
	case u.status == "unpaid" && !now.Before(u.end):
		s.draft(u)
	default:
		return false
	}
	return true
}

// Subscriptions returns what the account knows of a customer's subscriptions, without a call.
func (s *Server) Subscriptions(customer string) []payment.GatewaySubscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []payment.GatewaySubscription
	for _, u := range s.subscriptions {
		if u.customer == customer {
			all = append(all, payment.GatewaySubscription{
				ID: payment.SubscriptionID(u.id), Rate: payment.Rate{Ref: u.plan.PriceRef}, Quantity: int(u.quantity),
				Status: payment.Status(u.status), PeriodStart: u.start, TrialEnd: u.trialEnd, Paused: u.paused,
				CancelAtPeriodEnd: u.cancelAtPeriodEnd,
			})
		}
	}
	return all
}

// endsAt reports whether u is set to end at a time, or before.
func (u *subscription) endsAt(at time.Time) bool {
	c := u.schedule
	due := func(end time.Time) bool { return !end.IsZero() && !end.After(at) }
	return u.cancelAtPeriodEnd || due(u.cancelAt) || (c != nil && c.ends && due(c.phases[len(c.phases)-1].end))
}

func (s *Server) renew(u *subscription) {
	if u.endsAt(u.end) {
		s.billUsage(u, u.end)
		s.end(u, "canceled")
		return
	}
	at := u.end
	// https://docs.stripe.com/billing/subscriptions/trials#create-free-trials-without-payment
	if u.status == "trialing" && u.def == "" && s.customer(u.customer).def == "" {
		switch u.withoutCard {
		case "cancel":
			s.end(u, "canceled")
			return
		case "pause":
			u.status, u.setup = "paused", nil
			return
		}
	}
	if u.paused {
		u.status = "active"
		s.skip(u, at)
		return
	}
	u.unbilled = s.used(u, u.start, at)
	if u.schedule != nil {
		s.enter(u.schedule, u, at)
	}
	if u.status == "trialing" {
		u.anchor = at.Day()
	}
	u.start, u.end = at, u.plan.Interval.Advance(at, u.plan.IntervalCount, u.anchor)
	was := u.status
	u.status = "active"
	if s.billPeriod(u, false, at).status == "paid" {
		return
	}
	if u.status = "past_due"; was != "past_due" {
		u.retries, u.retryAt = 0, at.Add(retryEvery)
	}
}

// draft begins a period of an unpaid subscription, whose invoice stays a draft
// (https://docs.stripe.com/billing/subscriptions/overview#unpaid).
func (s *Server) draft(u *subscription) {
	if u.endsAt(u.end) {
		s.end(u, "canceled")
		return
	}
	u.unbilled = s.used(u, u.start, u.end)
	u.start, u.end = u.end, u.plan.Interval.Advance(u.end, u.plan.IntervalCount, u.anchor)
	used, off := u.usageCost(u.start)
	amount := u.cost(u.start) + used
	i := &invoice{
		id: s.id("in"), number: "STANDIN-" + strconv.Itoa(len(s.invoices)+1), customer: u.customer, subscription: u.id,
		status: "draft", tax: s.tax(u, amount), billedTo: s.customer(u.customer).billedTo(),
		total: amount + s.tax(u, amount), start: u.start, end: u.end, created: s.now(),
		reason: "subscription_cycle",
	}
	i.discounted(u.off(u.start)+off, u.discounts())
	if i.lines = []line{u.line(u.amount())}; u.unbilled != nil {
		i.lines, u.unbilled = append(i.lines, *u.unbilled), nil
	}
	u.spend(u.start)
	s.invoices, u.latest = append(s.invoices, i), i
}

// retry charges the newest open invoice of a renewal again.
func (s *Server) retry(u *subscription) {
	i := s.owed(u)
	decline, asks := "", false
	if i != nil && i.due > 0 {
		decline, asks = s.wouldDecline(u, false)
	}
	switch {
	case decline == "" && !asks:
		if i != nil {
			s.pay(i)
		}
		u.status, u.retries = "active", 0
	case u.retries+1 >= maxRetries:
		u.status = "unpaid"
	default:
		u.retries++
		u.retryAt = u.retryAt.Add(retryEvery)
	}
}

// owed returns the newest open invoice of u that is not of a pending update; nil if there is none.
func (s *Server) owed(u *subscription) *invoice {
	for _, i := range slices.Backward(s.invoices) {
		if i.subscription == u.id && i.status == "open" && (u.pending == nil || u.pending.invoice != i) {
			return i
		}
	}
	return nil
}
