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
// are compared at the quantity of the grant.
func (p Plans) Limits(base quota.Amounts, g *Grant) quota.Limits {
	out, quantity := quota.Limits{Amounts: base}, 1
	if g != nil {
		quantity = g.Quantity
		out.Plan, out.Amounts = g.Plan.offer(base, quantity), base.WithPlan(g.limits())
		out.Limited, out.Seats = map[quota.Kind]bool{}, g.Plan.seatKinds()
		for _, k := range quota.Kinds() {
			out.Limited[k] = g.Plan.limited(string(k))
		}
	}
	for i := range p {
		if one := &p[i]; one.OnSale() && (g == nil || one.ID != g.Plan.ID) {
			out.Others = append(out.Others, one.offer(base, quantity))
		}
	}
	return out
}

func (p *Plan) offer(base quota.Amounts, quantity int) quota.Offer {
	return quota.Offer{ID: string(p.ID), Name: p.Name, Amounts: base.WithPlan(p.LimitsOf(quantity))}
}
