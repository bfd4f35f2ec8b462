package payment

import (
	"cmp"
	"time"
)

// Period is the time from Start until before End.
type Period struct{ Start, End time.Time }

// PeriodOf returns the period over which a feature's usage is summed at now, the time at the gateway. c is the
// workspace's customer, nil for none. Usage belongs to the workspace: its periods are months since UsageSince, whatever
// becomes of its subscriptions. Before the first subscription they are calendar months in UTC. The feature by which the
// subscription is billed has the periods of the subscription: the gateway bills their sums.
func (p Plans) PeriodOf(c *Customer, feature string, now time.Time) Period {
	s := c.LiveSubscription()
	if s != nil && s.PeriodStart.Before(s.PeriodEnd) {
		if m := p.MeterOf(s); m != nil && m.Feature == feature {
			return p.billed(s, now)
		}
	}
	switch {
	case c != nil && !c.UsageSince.IsZero():
		return monthSince(c.UsageSince, now)
	case s != nil && !s.PeriodStart.IsZero(): // it was stored by a version that did not know UsageSince
		return monthSince(s.PeriodStart, now)
	}
	return month(now)
}

// billed returns a metered subscription's period at now. If the mirror has not seen a renewal yet, it is the period
// that follows. Without a known price, periods are months.
func (p Plans) billed(s *Subscription, now time.Time) Period {
	rate := s.Item.Rate
	if plan, err := p.Find(s.Plan); err == nil {
		rate = s.Paid(plan).rate()
	}
	interval, count := cmp.Or(rate.Interval, Month), max(rate.IntervalCount, 1)
	current := Period{Start: s.PeriodStart, End: s.PeriodEnd}
	for !now.Before(current.End) {
		current = Period{Start: current.End, End: interval.Advance(current.End, count, s.PeriodStart.Day())}
	}
	return current
}

// month returns a time's calendar month, in UTC.
func month(now time.Time) Period {
	utc := now.UTC()
	start := time.Date(utc.Year(), utc.Month(), 1, 0, 0, 0, 0, time.UTC)
	return Period{Start: start, End: start.AddDate(0, 1, 0)}
}

// monthSince returns the month of now, if months are counted since a time. It returns the first month for an earlier
// now: clocks differ. Each month begins on the same day, or on the last day of a month that is shorter.
func monthSince(start, now time.Time) Period {
	start, now = start.UTC(), now.UTC()
	nth := func(n int) time.Time { return Month.Advance(start, n, start.Day()) }
	n := max(0, 12*(now.Year()-start.Year())+int(now.Month())-int(start.Month()))
	if n > 0 && now.Before(nth(n)) {
		n--
	}
	return Period{Start: nth(n), End: nth(n + 1)}
}

// countUsage begins the usage periods of the workspace with its first subscription. Another subscription begins a new
// one when an invoice above 0 is paid: otherwise the payer could reset a free plan's limits, a trial or a discount of
// 100 % by ending the subscription.
func (c *Customer) countUsage(invoices []Invoice) {
	s := c.Subscription
	switch {
	case s == nil || s.Status == Incomplete:
	case c.UsageSince.IsZero():
		c.UsageSince = s.PeriodStart
	case c.BeganAgain():
		for i := range invoices {
			if i := &invoices[i]; i.Status == Paid && i.Total > 0 && i.Pack == nil && !i.CreatedAt.Before(s.CreatedAt) {
				c.UsageSince = latest(s.CreatedAt, i.CreatedAt, i.PaidAt)
				return
			}
		}
	}
}

// BeganAgain reports whether the subscription began after the usage periods, and has begun no new one yet.
func (c *Customer) BeganAgain() bool {
	s := c.Subscription
	return s != nil && s.Status != Incomplete && !c.UsageSince.IsZero() && s.CreatedAt.After(c.UsageSince)
}

func latest(times ...time.Time) time.Time {
	last := times[0]
	for _, t := range times[1:] {
		if t.After(last) {
			last = t
		}
	}
	return last
}
