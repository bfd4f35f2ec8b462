package payment

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// ItemID identifies a subscription item at the gateway.
type ItemID string

// Rate is a recurring price per unit, as the gateway has it. The zero Rate is an unknown one.
type Rate struct {
	Ref           string   `json:"ref"` // the gateway's id of the price
	Price         Money    `json:"price"`
	Interval      Interval `json:"interval"`
	IntervalCount int      `json:"interval_count"`
}

// rate returns the rate of p.
func (p *Plan) rate() Rate {
	return Rate{Ref: p.PriceRef, Price: p.Price, Interval: p.Interval, IntervalCount: p.IntervalCount}
}

// length returns the average length of r's period in days.
func (r Rate) length() float64 { return r.Interval.days() * float64(r.IntervalCount) }

// samePeriod reports whether r and o have periods of the same length.
func (r Rate) samePeriod(o Rate) bool {
	return r.Interval == o.Interval && r.IntervalCount == o.IntervalCount
}

// Paid returns the plan of s with the rate that s pays, which may be an older one.
func (s *Subscription) Paid(p *Plan) *Plan {
	r := s.Item.Rate
	if r == (Rate{}) {
		return p
	}
	plan := *p
	plan.PriceRef, plan.Price, plan.Interval, plan.IntervalCount = r.Ref, r.Price, r.Interval, r.IntervalCount
	return &plan
}

// Item is one subscription item at the gateway: a price and how many units of it. A person can add items to those that
// Atrium sells, and gateways promise no order of them.
type Item struct {
	ID       ItemID `json:"id"` // "" in a schedule phase
	Rate     Rate   `json:"rate"`
	Quantity int    `json:"quantity,omitempty"` // 0 if it is metered
	Metered  bool   `json:"metered,omitempty"`  // billed by usage

	PeriodStart time.Time `json:"-"` // zero in a schedule phase, and as it is stored
	PeriodEnd   time.Time `json:"-"` // likewise
}

// Schedule is what changes a subscription later, at the gateway.
type Schedule struct {
	Own    bool    // no one but Atrium has made it, for a PendingChange
	Ends   bool    // the subscription ends with the last phase, else it continues
	Phases []Phase // from the current one on; at least one
}

// Idle reports whether s no longer changes anything.
func (s *Schedule) Idle() bool { return s != nil && len(s.Phases) == 1 && !s.Ends }

// Phase is a part of a Schedule.
type Phase struct {
	Start, End time.Time
	Items      []Item // all: what a phase does not name is removed from the subscription when it begins
	Plan       PlanID // as noted with the phase; "" if Atrium did not make it
	PlanRef    string // the price of Plan when it was sold

	// Of is the index, among the phases that the gateway has, of the one whose further terms this one keeps, such as
	// taxes and discounts.
	Of int

	// Lasts is a phase's duration without an End: one period.
	Lasts Rate
}

// Resolve sets the plan of h, and the terms of the plan's item, by the rules of planItem. storedRef is the price that
// was stored last for h and plan the plan; both are "" if it is new. The plan is the configured one with the item's
// price, or, at a price that is no longer configured, what was sold at exactly this price. Otherwise it is unknown:
// that h was once sold as a plan does not say that its present price is one of that plan.
func (h *GatewaySubscription) Resolve(plans Plans, storedRef string, plan PlanID) {
	item := h.planItem(plans, storedRef, plan)
	if h.Plan = cmp.Or(h.Plan, plan); item == nil {
		if len(h.Items) > 0 {
			h.Plan, item = "", &h.Items[0]
			h.PeriodStart, h.PeriodEnd = item.PeriodStart, item.PeriodEnd
			h.EndsAt, h.CancelAtPeriodEnd = h.endsAt(item), h.endsWith(item)
		}
		return
	}
	h.Item, h.Rate, h.Quantity = item.ID, item.Rate, item.Quantity
	h.PeriodStart, h.PeriodEnd = item.PeriodStart, item.PeriodEnd
	if p := plans.soldAt(item.Rate.Ref, h.Plan); p != nil {
		h.Plan = p.ID
	} else if item.Rate.Ref == storedRef && plan != "" { // what the gateway has noted of its sale can be older
		h.Plan = plan
	}
	h.EndsAt, h.CancelAtPeriodEnd = h.endsAt(item), h.endsWith(item)
	h.Pending = h.pending(item, plans)
}

// isUnrecognized reports whether Resolve has not found the item of the plan.
func (h *GatewaySubscription) isUnrecognized() bool { return h.Item == "" && len(h.Items) > 0 }

// soldItem returns what is stored of the items that Atrium has sold. Of an unrecognized one the last price and its plan
// stay, so that the item is found when it has that price again.
func (h *GatewaySubscription) soldItem(plans Plans, previous SoldItem, plan PlanID) SoldItem {
	item := SoldItem{ID: h.Item, Rate: h.Rate, Meter: h.meter(plans, previous.Meter), Method: h.Method}
	if h.CancelAtPeriodEnd {
		item.Dropped = previous.Dropped
	}
	if h.isUnrecognized() {
		item.Rate, item.Plan, item.Unrecognized = previous.Rate, plan, true
		var refs []string
		for _, i := range h.Items {
			refs = append(refs, i.Rate.Ref)
		}
		slices.Sort(refs)
		item.Prices = strings.Join(refs, ", ")
	}
	return item
}

// meter returns the metered price by which h is billed for its plan: the configured one, else the one that was stored
// last, else the only one if the plan has one or is no longer configured. If the plan is unknown, it is the first that
// is one of a configured plan. "" if that is none.
func (h *GatewaySubscription) meter(plans Plans, storedMeter string) string {
	plan, err := plans.Find(h.Plan)
	var refs []string
	for _, i := range h.Items {
		if i.Metered {
			refs = append(refs, i.Rate.Ref)
		}
	}
	switch {
	case err == nil && plan.Metered != nil && slices.Contains(refs, plan.Metered.PriceRef):
		return plan.Metered.PriceRef
	case slices.Contains(refs, storedMeter):
		return storedMeter
	case len(refs) == 1 && h.Plan != "" && (err != nil || plan.Metered != nil):
		return refs[0]
	case h.Plan == "":
		n := slices.IndexFunc(refs, func(ref string) bool {
			return slices.ContainsFunc(plans,
				func(p Plan) bool { return p.Metered != nil && p.Metered.PriceRef == ref })
		})
		if n >= 0 {
			return refs[n]
		}
	}
	return ""
}

// soldAt returns the plan with a gateway's price. If several have it, the one that the subscription was sold as.
func (p Plans) soldAt(ref string, planID PlanID) *Plan {
	if plan, err := p.Find(planID); err == nil && ref != "" && plan.PriceRef == ref {
		return plan
	}
	return p.ByPrice(ref)
}

// planItem returns the item of the plan: the item with a configured plan's price, else the item with the price that was
// stored last, or at which the gateway notes that the plan was sold. If there is no such price, because the plan has
// none at the gateway or an earlier version stored the plan without it, the only item that is not metered. Nil if that
// is none, or not only one.
func (h *GatewaySubscription) planItem(plans Plans, storedRef string, stored PlanID) *Item {
	items := h.licensed(func(i *Item) bool { return plans.ByPrice(i.Rate.Ref) != nil })
	if len(items) == 1 {
		return items[0]
	}
	hasItems := len(items) > 0
	if !hasItems {
		items = h.licensed(func(*Item) bool { return true })
	}
	priceRef := ""
	if plan, err := plans.Find(h.Plan); err == nil {
		priceRef = plan.PriceRef
	}
	for _, ref := range []string{storedRef, h.PlanRef, priceRef} {
		i := slices.IndexFunc(items, func(i *Item) bool { return ref != "" && i.Rate.Ref == ref })
		if i >= 0 {
			return items[i]
		}
	}
	isUnpriced := storedRef == "" && h.PlanRef == "" && h.Plan != "" && (stored != "" || priceRef == "")
	if !hasItems && len(items) == 1 && isUnpriced {
		return items[0]
	}
	return nil
}

// licensed returns the items of h that are not metered and match.
func (h *GatewaySubscription) licensed(match func(*Item) bool) (items []*Item) {
	for n := range h.Items {
		if i := &h.Items[n]; !i.Metered && match(i) {
			items = append(items, i)
		}
	}
	return items
}

// item returns an item of h, or nil. "" stands for the only one that is not metered.
func (h *GatewaySubscription) item(id ItemID) *Item {
	items := h.licensed(func(i *Item) bool { return id == "" || i.ID == id })
	if len(items) != 1 {
		return nil
	}
	return items[0]
}

// endsAt returns when h is set to end; the zero time if it continues. item is its plan's item.
func (h *GatewaySubscription) endsAt(item *Item) time.Time {
	switch s := h.Schedule; {
	case !h.CancelAt.IsZero():
		return h.CancelAt
	case h.CancelAtPeriodEnd:
		return item.PeriodEnd
	case s != nil && s.Ends:
		return s.Phases[len(s.Phases)-1].End
	}
	return time.Time{}
}

// endsWith reports whether h is set to end with the period of item, or before.
func (h *GatewaySubscription) endsWith(item *Item) bool {
	end := h.endsAt(item)
	return !end.IsZero() && !end.After(item.PeriodEnd)
}

// EndsBy reports whether h, changed by a, is set to end at a time or before.
func (h *GatewaySubscription) EndsBy(renewal time.Time, a Amendment) bool {
	item := h.item(a.Item)
	if item == nil {
		return false
	}
	end := h.endsAt(item)
	switch {
	case a.CancelAtPeriodEnd != nil && *a.CancelAtPeriodEnd:
		return true
	case a.Undoes() && h.endsWith(item):
		return false
	}
	return !end.IsZero() && !end.After(renewal)
}

// planItem returns the index of the plan's item in a phase: that with the price of the item that it is now, else the
// only one that is neither metered nor another item of the subscription, or -1.
func (p *Phase) planItem(h *GatewaySubscription, item *Item) int {
	found := -1
	for n := range p.Items {
		i := &p.Items[n]
		other := slices.ContainsFunc(h.Items, func(o Item) bool { return o.ID != item.ID && o.Rate.Ref == i.Rate.Ref })
		switch {
		case i.Metered || other:
		case i.Rate.Ref == item.Rate.Ref:
			return n
		case found >= 0:
			return -1
		default:
			found = n
		}
	}
	return found
}

// pending returns what the schedule of h changes about its plan's item, one change after the other; nil if it changes
// nothing of it.
func (h *GatewaySubscription) pending(item *Item, plans Plans) (first *PendingChange) {
	if h.Schedule == nil {
		return nil
	}
	next, current := &first, *item
	for _, p := range h.Schedule.Phases[1:] {
		n := p.planItem(h, item)
		if n < 0 {
			continue
		}
		previous, isFirst := current, first == nil
		current.Rate.Ref, current.Quantity = p.Items[n].Rate.Ref, p.Items[n].Quantity
		isSame := current.Rate.Ref == previous.Rate.Ref && current.Quantity == previous.Quantity
		if isSame && (p.Plan == "" || !isFirst) {
			continue
		}
		plan, ref := cmp.Or(p.Plan, h.Plan), p.Items[n].Rate.Ref
		if q := plans.soldAt(ref, plan); q != nil {
			plan = q.ID
		} else if ref != item.Rate.Ref && ref != p.PlanRef {
			plan = "" // as it will be when the phase begins
		}
		*next = &PendingChange{Plan: plan, Quantity: current.Quantity, At: p.Start, Elsewhere: !h.Schedule.Own}
		next = &(*next).Next
	}
	return first
}
