package payment

import (
	"time"

	"github.com/atrium-hq/atrium/domain/quota"
)

// Limiting reports whether a plan has a limit for one of kinds.
func (p Plans) Limiting(kinds []quota.Kind) bool {
	for i := range p {
		for _, k := range kinds {
			if _, ok := p[i].Limits[string(k)]; ok {
				return true
			}
		}
	}
	return false
}

// Below returns the kinds of which a workspace has less with p than without a plan. base are the limits without one.
func (p *Plan) Below(base quota.Amounts) (kinds []quota.Kind) {
	amounts := base.WithPlan(p.Limits)
	for _, k := range quota.Kinds() {
		if amounts.Get(k) < base.Get(k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Entitling returns the plan that a subscription entitles its workspace to at now; nil if it entitles to
// none.
func (p Plans) Entitling(s *Subscription, now time.Time, grace time.Duration) *Plan {
	if s == nil || !s.Entitled(now, grace) {
		return nil
	}
	plan, err := p.Find(s.Plan)
	if err != nil {
		return nil
	}
	return plan
}

// Limits returns the limits for a workspace that is entitled to plan, nil for none. configured are the limits without a
// plan.
func (p Plans) Limits(base quota.Amounts, plan *Plan) quota.Limits {
	out := quota.Limits{Amounts: base}
	if plan != nil {
		out.Plan, out.Amounts = plan.offer(base), base.WithPlan(plan.Limits)
		out.Limited = map[quota.Kind]bool{}
		for _, k := range quota.Kinds() {
			_, out.Limited[k] = plan.Limits[string(k)]
		}
	}
	for i := range p {
		if one := &p[i]; one.OnSale() && (plan == nil || one.ID != plan.ID) {
			out.Others = append(out.Others, one.offer(base))
		}
	}
	return out
}

func (p *Plan) offer(base quota.Amounts) quota.Offer {
	return quota.Offer{ID: string(p.ID), Name: p.Name, Amounts: base.WithPlan(p.Limits)}
}
