package stripesim

import (
	"slices"
	"time"
)

// roll processes everything that is due until now, and reports whether anything changed. Everything happens at its own
// time and in order, even if the customer was not looked at for long.
func (s *account) roll(now time.Time) (hasChanged bool) {
	for next := s.next(); next != nil && !now.Before(next.due); next = s.next() {
		s.clock, hasChanged = next.due, true
		next.do()
	}
	s.clock = now
	return hasChanged
}

// step is something that happens by itself.
type step struct {
	due time.Time
	do  func()
}

// next returns what happens next by itself, or nil.
func (s *account) next() (next *step) {
	consider := func(one step) {
		if next == nil || one.due.Before(next.due) {
			next = &one
		}
	}
	for _, u := range s.subscriptions {
		for _, one := range s.steps(u) {
			consider(one)
		}
	}
	for _, one := range s.debits() {
		consider(one)
	}
	for _, r := range s.refunds {
		if r.Next != "" {
			consider(step{r.Settles, func() { r.Status, r.Next = r.Next, "" }})
		}
	}
	return next
}

// steps returns what will happen to a subscription as time passes, in its present status. The caller takes the
// earliest.
func (s *account) steps(u *subscription) (all []step) {
	add := func(due time.Time, do func(*subscription)) {
		all = append(all, step{due, func() { do(u) }})
	}
	if u.Pending != nil {
		add(u.Pending.Expires, (*subscription).drop)
	}
	if u.live() && u.endsWithin() {
		add(u.CancelAt, func(u *subscription) { s.end(u, "canceled") })
	}
	switch u.Status {
	case "incomplete":
		add(u.Created.Add(incompleteFor), func(u *subscription) { s.end(u, "incomplete_expired") })
	case "trialing":
		if !u.TrialTold {
			add(u.TrialEnd.Add(-trialTold), s.announceEnd)
		}
		add(u.End, s.renew)
	case "active":
		add(u.End, s.renew)
		if due := s.nextDue(u); !due.IsZero() {
			add(due, func(u *subscription) { u.Status = "past_due" })
		}
	case "past_due":
		if u.DaysUntilDue == 0 {
			add(u.RetryAt, s.retry)
		}
		add(u.End, s.renew)
	case "unpaid":
		add(u.End, s.draft)
	}
	return all
}

// announceEnd tells that a trial ends soon (https://docs.stripe.com/api/events/types, trial_will_end).
func (s *account) announceEnd(u *subscription) {
	u.TrialTold = true
	s.emit("customer.subscription.trial_will_end", "subscription", u.ID)
}

// endsAt reports whether u is set to end at a time, or before.
func (u *subscription) endsAt(moment time.Time) bool {
	c := u.schedule
	due := func(end time.Time) bool { return !end.IsZero() && !end.After(moment) }
	return u.CancelAtPeriodEnd || due(u.CancelAt) || (c != nil && c.Ends && due(c.Phases[len(c.Phases)-1].End))
}

// renew begins the next period: it cancels or pauses what ends, enters the schedule's next phase, and bills.
func (s *account) renew(u *subscription) {
	if u.endsAt(u.End) {
		s.billUsage(u, u.End)
		s.end(u, "canceled")
		return
	}
	moment := u.End
	// https://docs.stripe.com/billing/subscriptions/trials#create-free-trials-without-payment
	if u.Status == "trialing" && u.Default == "" && s.customer(u.Customer).Default == "" {
		switch u.WithoutCard {
		case "cancel":
			s.end(u, "canceled")
			return
		case "pause":
			u.Status, u.setup = "paused", nil
			return
		}
	}
	if u.Paused {
		u.Status = "active"
		s.skip(u, moment)
		return
	}
	u.Unbilled = s.used(u, u.Start, moment)
	if u.schedule != nil {
		s.enter(u.schedule, u, moment)
	}
	if u.Status == "trialing" {
		u.Anchor = moment.Day()
	}
	u.Start, u.End = moment, u.Plan.Interval.Advance(moment, u.Plan.IntervalCount, u.Anchor)
	previous := u.Status
	u.Status = "active"
	i := s.billPeriod(u, attempt{}, moment)
	if i.Reason = "subscription_cycle"; i.Status == "paid" || i.onTheWay() {
		return
	}
	if u.DaysUntilDue > 0 {
		if s.overdue(u) {
			u.Status = "past_due"
		}
		return
	}
	if u.Status = "past_due"; previous != "past_due" {
		u.Retries, u.RetryAt = 0, moment.Add(retryEvery)
	}
}

// draft begins a period of an unpaid subscription, whose invoice stays a draft
// (https://docs.stripe.com/billing/subscriptions/overview#unpaid).
func (s *account) draft(u *subscription) {
	if u.endsAt(u.End) {
		s.end(u, "canceled")
		return
	}
	u.Unbilled = s.used(u, u.Start, u.End)
	u.Start, u.End = u.End, u.Plan.Interval.Advance(u.End, u.Plan.IntervalCount, u.Anchor)
	usage, deduction := u.usageCost(u.Start)
	amount := u.cost(u.Start) + usage
	i := &invoice{
		ID: s.id("in"), Number: s.invoiceNumber(u), Customer: u.Customer, Subscription: u.ID,
		Currency: u.Plan.Price.Currency,
		Status:   "draft", Tax: s.tax(u, amount), BilledTo: s.customer(u.Customer).billedTo(),
		Total: amount + s.tax(u, amount), Start: u.Start, End: u.End, Created: s.now(),
		Reason: "subscription_cycle",
	}
	i.discounted(u.deduction(u.Start)+deduction, u.discounts())
	i.Lines = u.periodLines()
	u.spend(u.Start)
	s.invoices, u.latest = append(s.invoices, i), i
}

// retry charges the newest open renewal invoice again.
func (s *account) retry(u *subscription) {
	i := s.owed(u)
	decline, asks := "", false
	if i != nil && i.Due > 0 {
		decline, asks = s.wouldDecline(u, attempt{before: i.intent.Attempts})
		i.Attempts++
	}
	if decline != "" && decline != wantsPayer {
		i.intent.fail(decline)
	}
	switch {
	case decline == "" && !asks:
		if i != nil {
			s.chargeInvoice(i)
		}
		if u.Status = "active"; i == nil || !i.onTheWay() {
			u.Retries = 0
		}
	case u.Retries+1 >= maxRetries:
		u.Status = "unpaid"
	default:
		u.Retries++
		u.RetryAt = u.RetryAt.Add(retryEvery)
	}
}

// owed returns the newest open invoice of u that is not of a pending update, or nil.
func (s *account) owed(u *subscription) *invoice {
	for _, i := range slices.Backward(s.invoices) {
		if i.Subscription == u.ID && i.Status == "open" && (u.Pending == nil || u.Pending.invoice != i) {
			return i
		}
	}
	return nil
}

// How subscriptions change with time. Stripe chooses when to retry a failed renewal; here it is every three days, four
// times.
const (
	incompleteFor = 23 * time.Hour
	retryEvery    = 3 * 24 * time.Hour
	maxRetries    = 4
	trialTold     = 3 * 24 * time.Hour // before its end
)
