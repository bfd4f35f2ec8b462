package payment

import "slices"

// Difference is what a gateway has to be told so that a subscription becomes what an Amendment asks for. What it does
// not contain stays as it is: other items, prices, quantities, taxes, discounts, schedules and their end, when the
// subscription or its trial ends, and what it is charged to.
type Difference struct {
	// Items changes items; empty if all of them stay. The items that stay are named without a change.
	Items []ItemChange

	AtRenewal bool // Items changes when the period ends, by Phases
	EndsTrial bool // the trial ends at once
	Restarts  bool // a new period begins at once, because the price has another period, or the trial ends

	// End sets whether the subscription ends with its period. Nil leaves that.
	End *bool

	Release bool    // the schedule ends, and the subscription continues unchanged
	Phases  []Phase // replace the schedule's phases, and create a schedule if needed; nil leaves them
	Ends    bool    // Schedule.Ends, with Phases

	// Discount reports that the amendment's discount applies to all later phases, too.
	Discount bool
}

// ItemChange changes one subscription item.
type ItemChange struct {
	ID       ItemID // "" adds an item
	Ref      string // the price; "" keeps it
	Quantity int    // 0 keeps it
	Deleted  bool
}

// Difference compares h, as the gateway has it at this moment, with what a asks for. ErrSubscriptionUnrecognized if h
// does not have the item that a changes, ErrSubscriptionEnds for a change that waits for a renewal that will not be,
// ErrRenewalUnpaid, ErrChangeScheduled.
func (h *GatewaySubscription) Difference(a Amendment) (Difference, error) {
	item := h.item(a.Item)
	if item == nil {
		return Difference{}, ErrSubscriptionUnrecognized
	}
	ends := a.EndTrial && h.Status == Trialing
	d := Difference{AtRenewal: a.AtRenewal, EndsTrial: ends, Restarts: ends}
	h.ending(item, a, &d)
	if len(a.AddOns) > 0 {
		return d, h.addOns(item, a, &d)
	}
	if a.Resell {
		return d, h.resell(item, a, &d)
	}
	switch s := h.Schedule; {
	case s == nil:
	case a.Promotion != nil && s.Own == a.AtRenewal && d.Phases == nil:
		d.Phases, d.Ends, d.Discount = h.allPhases(item), s.Ends, true
	case a.Pause != nil && *a.Pause && s.Own: // a pause drops what Atrium has scheduled
		d.Release = true
	}
	return d, nil
}

// ending sets what is sent for the end of h.
func (h *GatewaySubscription) ending(item *Item, a Amendment, d *Difference) {
	if a.CancelAtPeriodEnd == nil {
		return
	}
	s := h.Schedule
	foreign := s != nil && !s.Own
	switch ends := *a.CancelAtPeriodEnd; {
	case ends == h.endsWith(item): // an end at a later time is not one of the period
	case ends && foreign:
		phases := h.allPhases(item)
		n := slices.IndexFunc(phases, func(p Phase) bool { return !p.End.Before(item.PeriodEnd) })
		phases = phases[:max(n, 0)+1]
		phases[len(phases)-1].End = item.PeriodEnd
		d.Phases, d.Ends = phases, true
	case !ends && foreign && s.Ends:
		d.Phases = h.allPhases(item)
	default:
		d.End, d.Release = &ends, s != nil && s.Own
	}
}

// resell sets what is sent for another plan or quantity.
func (h *GatewaySubscription) resell(item *Item, a Amendment, d *Difference) error {
	if a.Plan.ID != "" && slices.ContainsFunc(h.Items, func(o Item) bool {
		return o.ID != item.ID && o.Rate.Ref == a.Plan.PriceRef
	}) { // gateways refuse two items with one price
		return ErrSubscriptionUnrecognized
	}
	if a.changes(item) {
		d.Items = h.itemChanges(item, a)
	}
	d.Restarts = d.EndsTrial || (a.changesPeriod(item) && !a.AtRenewal && h.Status != Trialing)
	s := h.Schedule
	switch {
	case a.AtRenewal:
		return h.later(item, a, d)
	case len(d.Items) > 0 && h.Status == PastDue:
		return ErrRenewalUnpaid
	case s != nil && s.Own:
		d.Release = true
	case s != nil && d.Phases == nil:
		phases := h.allPhases(item)
		if h.overlay(phases, item, a) || a.Promotion != nil {
			d.Phases, d.Ends, d.Discount = phases, s.Ends, a.Promotion != nil
		}
	}
	return nil
}

// later sets what is sent for a change at the end of the period: the phases of the schedule, with the new terms from
// then on. Atrium's own schedule is replaced; someone else's schedule keeps everything else and its end.
func (h *GatewaySubscription) later(item *Item, a Amendment, d *Difference) error {
	s := h.Schedule
	foreign := s != nil && !s.Own
	undone := a.Undoes() && h.endsWith(item)
	switch end := a.CancelAtPeriodEnd; {
	case end != nil && *end, h.endsWith(item) && !undone:
		return ErrSubscriptionEnds
	case !foreign && !undone && !h.endsAt(item).IsZero(): // what a new schedule does to it is not documented
		return errFixedTerm
	}
	if !foreign && len(d.Items) == 0 && a.Promotion == nil {
		d.Release = s != nil
		return nil
	}
	phases := h.allPhases(item)
	if !foreign {
		phases = phases[:1]
		phases[0].End = item.PeriodEnd
	}
	phases = split(phases, item, a)
	if !h.overlay(phases, item, a) && foreign && a.Promotion == nil {
		return nil // so it is
	}
	d.Phases, d.Ends, d.Discount = phases, foreign && s.Ends && !undone, a.Promotion != nil
	return nil
}

// allPhases returns the phases of h as they are. The current one has the items of h.
func (h *GatewaySubscription) allPhases(item *Item) []Phase {
	current := Phase{Start: item.PeriodStart, End: item.PeriodEnd, Items: slices.Clone(h.Items)}
	if h.Schedule == nil {
		return []Phase{current}
	}
	terms := h.Schedule.Phases
	current.Start, current.End = terms[0].Start, terms[0].End // which cannot be moved
	phases := []Phase{current}
	for n, p := range terms[1:] {
		p.Of, p.Items = n+1, slices.Clone(p.Items)
		phases = append(phases, p)
	}
	return phases
}

// split divides the phase in which the period of item ends, and adds a phase that begins then if none does.
func split(phases []Phase, item *Item, a Amendment) []Phase {
	renewal, out := item.PeriodEnd, []Phase(nil)
	for _, p := range phases {
		if p.Start.Before(renewal) && p.End.After(renewal) {
			first := p
			first.End = renewal
			p.Start, p.Items = renewal, slices.Clone(p.Items)
			out = append(out, first)
		}
		out = append(out, p)
	}
	if last := &out[len(out)-1]; !last.End.After(renewal) {
		last.End = renewal
		next := Phase{Start: renewal, Items: slices.Clone(last.Items), Of: last.Of, Lasts: item.Rate}
		if a.Plan.ID != "" {
			next.Lasts = a.Plan.rate()
		}
		out = append(out, next)
	}
	return out
}

// overlay gives the plan's item the terms of a in all phases, or in those after the period if a waits for that. It
// reports whether a later phase changes; the current one follows its subscription.
func (h *GatewaySubscription) overlay(phases []Phase, item *Item, a Amendment) (isChanged bool) {
	for n := range phases {
		p := &phases[n]
		match := p.planItem(h, item)
		if (a.AtRenewal && p.Start.Before(item.PeriodEnd)) || match < 0 {
			continue
		}
		isChanged = isChanged || (n > 0 && a.changes(&p.Items[match]))
		a.apply(&p.Items[match])
		if a.Plan.ID != "" {
			p.Plan, p.PlanRef, p.Items = a.Plan.ID, a.Plan.PriceRef, a.meterItems(p.Items)
		}
	}
	return isChanged
}

// changes reports whether a gives an item other terms than it has.
func (a *Amendment) changes(i *Item) bool {
	return (a.Quantity != 0 && a.Quantity != i.Quantity) || (a.Plan.ID != "" && a.Plan.PriceRef != i.Rate.Ref)
}

// changesPeriod reports whether a gives an item a price by another period.
func (a *Amendment) changesPeriod(i *Item) bool {
	return a.Plan.ID != "" && !a.Plan.rate().samePeriod(i.Rate)
}

// apply gives an item the terms of a.
func (a *Amendment) apply(i *Item) {
	if a.Quantity != 0 {
		i.Quantity = a.Quantity
	}
	if a.Plan.ID != "" {
		i.Rate = a.Plan.rate()
	}
}

// meterItems returns items with the metered price of a's plan in place of the previous plan's.
func (a *Amendment) meterItems(items []Item) []Item {
	price := ""
	if m := a.Plan.Metered; m != nil {
		price = m.PriceRef
	}
	index := func(ref string) int {
		return slices.IndexFunc(items, func(i Item) bool { return i.Metered && ref != "" && i.Rate.Ref == ref })
	}
	switch previous, exists := index(a.Meter), index(price) >= 0; {
	case a.Meter == price, previous < 0 && (exists || price == ""): // nothing changes
	case previous < 0:
		items = append(items, Item{Rate: Rate{Ref: price}, Metered: true})
	case exists, price == "":
		items = slices.Delete(items, previous, previous+1)
	default:
		items[previous].Rate = Rate{Ref: price}
	}
	return items
}

// itemChanges returns the changes of the items of h: of the plan's item, and of its metered price's item. All others
// are named as they are.
func (h *GatewaySubscription) itemChanges(item *Item, a Amendment) []ItemChange {
	change := ItemChange{ID: item.ID}
	if a.Quantity != item.Quantity {
		change.Quantity = a.Quantity
	}
	rest := slices.Clone(h.Items)
	if a.Plan.ID != "" {
		rest = a.meterItems(rest)
		if a.Plan.PriceRef != item.Rate.Ref {
			change.Ref = a.Plan.PriceRef
		}
	}
	changes := []ItemChange{change}
	for _, i := range h.Items {
		if i.ID == item.ID {
			continue
		}
		other := ItemChange{ID: i.ID}
		match := slices.IndexFunc(rest, func(o Item) bool { return o.ID == i.ID })
		if other.Deleted = match < 0; match >= 0 && rest[match].Rate.Ref != i.Rate.Ref {
			other.Ref = rest[match].Rate.Ref
		}
		changes = append(changes, other)
	}
	for _, i := range rest {
		if i.ID == "" {
			changes = append(changes, ItemChange{Ref: i.Rate.Ref})
		}
	}
	return changes
}
