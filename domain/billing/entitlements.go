package billing

import (
	"time"

	"github.com/atrium-hq/atrium/domain/quota"
)

// Entitlements are the limits and the usage of a workspace at a moment.
type Entitlements struct {
	Plan     *Plan // nil if the workspace is entitled to none
	Status   Status
	Entitled bool

	// Period is the time over which usage that the application reports is summed.
	Period Period

	Limits []Allowance
}

// Period is the time from Start until before End.
type Period struct{ Start, End time.Time }

// Origin says what sets a limit.
type Origin string

// The origins.
const (
	PlanLimit  Origin = "plan"  // the workspace's plan
	QuotaLimit Origin = "quota" // the organisation's configuration
	NoLimit    Origin = "none"
)

// Allowance is a limit of a workspace and its usage.
type Allowance struct {
	Name    string
	Limit   int64 // meaningless if Origin is NoLimit
	Used    int64
	Origin  Origin
	Counted bool // by the application, per period; otherwise by Atrium
}

// Exceeded reports whether more is used than the limit allows.
func (a *Allowance) Exceeded() bool { return a.Origin != NoLimit && a.Used > a.Limit }

// Reportable returns the names that applications count themselves: those in the limits of any plan, except the ones
// that Atrium counts, and the features of metered prices. They are in no order.
func (p Plans) Reportable() map[string]bool {
	names := map[string]bool{}
	for i := range p {
		for name := range p[i].Limits {
			names[name] = true
		}
		if m := p[i].Metered; m != nil {
			names[m.Feature] = true
		}
	}
	for _, k := range quota.Kinds() {
		delete(names, string(k))
	}
	return names
}

// PeriodOf returns the period of a workspace's subscription at now; the calendar month in UTC if it has
// none. If the mirror has not seen a renewal yet, it is the period that follows.
func (p Plans) PeriodOf(s *Subscription, now time.Time) Period {
	if s == nil || s.PeriodStart.IsZero() || !s.PeriodStart.Before(s.PeriodEnd) {
		utc := now.UTC()
		start := time.Date(utc.Year(), utc.Month(), 1, 0, 0, 0, 0, time.UTC)
		return Period{Start: start, End: start.AddDate(0, 1, 0)}
	}
	current := Period{Start: s.PeriodStart, End: s.PeriodEnd}
	plan, err := p.Find(s.Plan)
	if err != nil {
		return current
	}
	for !now.Before(current.End) {
		current = Period{Start: current.End, End: plan.Interval.Advance(current.End, max(plan.IntervalCount, 1),
			s.PeriodStart.Day())}
	}
	return current
}

// Entitlements returns what a workspace with a subscription, nil for none, may use. limits are those of
// Limits, used is what Atrium counts, and reported what the application has reported in the period.
func (p Plans) Entitlements(s *Subscription, now time.Time, grace time.Duration, limits quota.Limits,
	used quota.Amounts, reported map[string]int64) *Entitlements {
	e := &Entitlements{Plan: p.Entitling(s, now, grace), Period: p.PeriodOf(s, now)}
	if s != nil {
		e.Status, e.Entitled = s.Status, s.Entitled(now, grace)
	}
	for _, k := range quota.Kinds() {
		a := Allowance{Name: string(k), Limit: limits.Get(k), Used: used.Get(k), Origin: QuotaLimit}
		switch {
		case limits.Limited[k]:
			a.Origin = PlanLimit
		case !limits.Bounds(k) && k == quota.Streams:
			continue // streams are counted only where they are limited
		case !limits.Bounds(k):
			a.Origin = NoLimit
		}
		e.Limits = append(e.Limits, a)
	}
	for name := range p.Reportable() {
		e.Limits = append(e.Limits, e.reported(name, reported[name]))
	}
	return e
}

// reported returns the limit of a name that the application counts. A workspace without a plan has 0.
func (e *Entitlements) reported(name string, used int64) Allowance {
	a := Allowance{Name: name, Used: used, Origin: PlanLimit, Counted: true}
	if e.Plan != nil {
		limit, limited := e.Plan.Limits[name]
		if a.Limit = limit; !limited {
			a.Origin = NoLimit
		}
	}
	return a
}
