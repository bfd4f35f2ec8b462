package payment

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/quota"
)

// Entitlements are a workspace's limits and usage at a moment.
type Entitlements struct {
	Plan     *Plan // nil if the workspace is entitled to none
	Status   Status
	Entitled bool

	// Period is the time over which usage that the application reports is summed, if the gateway does not bill it.
	Period Period

	Limits []Allowance

	grant *Grant // with Plan; nil without one
}

// Origin says what sets a limit.
type Origin string

// The origins.
const (
	PlanLimit  Origin = "plan"  // the workspace's plan
	QuotaLimit Origin = "quota" // the organisation's configuration
	NoLimit    Origin = "none"
)

// Allowance is a workspace limit and its usage.
type Allowance struct {
	Name    string
	Limit   int64 // meaningless if Origin is NoLimit
	Used    int64
	Origin  Origin
	Counted bool // by the application, per Period; otherwise by Atrium
	Period  Period

	FromPacks int64        // of Used, what credit packs have paid for
	Packs     []CreditPack // of which something is left, in the order in which they are spent
}

// left returns what could be used now with a limit of the plan.
func (a *Allowance) left(limit int64) int64 {
	return max(0, limit-(a.Used-a.FromPacks)) + sumOf(a.Packs)
}

// Reportable returns the names that applications count themselves: those in the limits of any plan, except the ones
// that Atrium counts, and the features of metered prices. They are in no order.
func (p Plans) Reportable() map[string]bool {
	names := map[string]bool{}
	for i := range p {
		for name := range p[i].LimitsOf(1) {
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

// Entitlements returns what a workspace may use. c is its customer, or nil. limits are the limits of
// Limits for g, usage is what Atrium counts, and reports what the application has reported in the period of each
// feature, with the credit packs that can be spent.
func (p Plans) Entitlements(c *Customer, g *Grant, now time.Time, grace time.Duration, limits quota.Limits,
	usage quota.Amounts, reports map[string]Tally) *Entitlements {
	s := c.LiveSubscription()
	e := &Entitlements{Period: p.PeriodOf(c, "", now), grant: g}
	if g != nil {
		e.Plan = g.Plan
	}
	if s != nil {
		e.Status, e.Entitled = s.Status, s.Entitled(now, grace)
	}
	for _, k := range quota.Kinds() {
		a := Allowance{Name: string(k), Limit: limits.Get(k), Used: usage.Get(k), Origin: QuotaLimit}
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
		e.Limits = append(e.Limits, e.reported(name, reports[name], p.PeriodOf(c, name, now)))
	}
	return e
}

// Allowance returns a limit by its name; nil if not found.
func (e *Entitlements) Allowance(name string) *Allowance {
	if n := slices.IndexFunc(e.Limits, func(a Allowance) bool { return a.Name == name }); n >= 0 {
		return &e.Limits[n]
	}
	return nil
}

// LiveSubscription returns the live subscription; nil without a subscription or a customer.
func (c *Customer) LiveSubscription() *Subscription {
	if c == nil {
		return nil
	}
	return c.Subscription
}

// SoldAs reports whether c has an earlier reading's subscription, with the same plan.
func (c *Customer) SoldAs(previous *Customer) bool {
	s, p := c.Subscription, previous.Subscription
	if s == nil || p == nil {
		return s == p
	}
	return s.ID == p.ID && s.Plan == p.Plan
}

// reported returns the limit of a name that the application counts. A workspace without a plan has what its credit
// packs add. A limit is the sum of the plan's and of what credit packs have paid for in the period and still have.
func (e *Entitlements) reported(name string, t Tally, in Period) Allowance {
	a := Allowance{Name: name, Used: t.Used, Origin: PlanLimit, Counted: true, Period: in, FromPacks: t.FromPacks,
		Packs: t.Packs}
	limit, isLimited := int64(0), true
	if e.grant != nil {
		limit, isLimited = e.grant.limit(e.Plan, name)
	}
	if a.Limit = limit; !isLimited {
		a.Origin = NoLimit
	} else if a.FromPacks > 0 || len(a.Packs) > 0 {
		a.Limit = min(a.Used+a.left(limit), MaxUsageSum)
	}
	return a
}
