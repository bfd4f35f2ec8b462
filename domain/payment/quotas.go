package payment

import "github.com/atrium-hq/atrium/domain/quota"

// Limiting reports whether a plan has a limit for one of kinds.
func (p Plans) Limiting(kinds []quota.Kind) bool {
	for i := range p {
		for _, k := range kinds {
			if p[i].limited(string(k)) {
				return true
			}
		}
	}
	return false
}

// Below returns the kinds of which a workspace has less with one unit of p than without a plan. base are the limits
// without one.
func (p *Plan) Below(base quota.Amounts) (kinds []quota.Kind) {
	amounts := base.WithPlan(p.LimitsOf(1))
	for _, k := range quota.Kinds() {
		if amounts.Get(k) < base.Get(k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Limits returns the limits for a workspace with a grant, nil for none. base are the limits without a plan. Other plans
// are compared at the quantity and with the add-ons of the grant.
func (p Plans) Limits(base quota.Amounts, g *Grant) quota.Limits {
	out := quota.Limits{Amounts: base}
	if g != nil {
		out.Plan = g.offer(g.Plan, base)
		out.Amounts, out.Limited, out.Seats = out.Plan.Amounts, map[quota.Kind]bool{}, g.Plan.seatKinds()
		out.Added = g.Added
		for _, k := range quota.Kinds() {
			out.Limited[k] = g.Plan.limited(string(k))
		}
	}
	for i := range p {
		if one := &p[i]; one.OnSale() && (g == nil || one.ID != g.Plan.ID) {
			out.Others = append(out.Others, g.offer(one, base))
		}
	}
	return out
}

// offer returns what a workspace with g, nil for none, would have with a plan.
func (g *Grant) offer(p *Plan, base quota.Amounts) quota.Offer {
	quantity, added := 1, map[string]int64(nil)
	if g != nil {
		quantity, added = g.Quantity, g.Added
	}
	return quota.Offer{ID: string(p.ID), Name: p.Name, Amounts: base.WithPlan(p.LimitsOf(quantity)).Plus(added)}
}
