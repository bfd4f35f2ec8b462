package payment

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
)

// Errors about add-ons.
var (
	ErrAddOnNotFound = &fault.Error{Kind: fault.NotFound, Code: "add_on_not_found",
		Detail: "This organisation has no such add-on."}
	ErrAddOnUnavailable = &fault.Error{Kind: fault.Invalid, Code: "add_on_unavailable",
		Detail: "The add-on cannot be bought at the moment, or not for this subscription: it must have the period " +
			"and the currency of the plan."}
	ErrChangeScheduled = &fault.Error{Kind: fault.Conflict, Code: "change_scheduled",
		Detail: "A change of the subscription is scheduled, so add-ons cannot be changed. Undo that change first, or " +
			"wait until it is made."}
)

// AddOnOrder is a quantity of an add-on that a caller asks for.
type AddOnOrder struct {
	ID       PlanID // of the add-on
	Quantity int    // 0 to 10000; 0 removes it
	AddOn    *Plan  `json:"-"` // as the org sells it
}

// ItemOrder is the quantity that the subscription item with a price is to have; 0 removes the item.
type ItemOrder struct {
	Ref      string `json:"ref"`
	Quantity int    `json:"quantity"`
}

// FindAddOn is Find for add-ons, or ErrAddOnNotFound.
func (p Plans) FindAddOn(id PlanID) (*Plan, error) {
	a, err := p.Find(id)
	if err != nil {
		return nil, ErrAddOnNotFound
	}
	return a, nil
}

// planAddOns completes an operation that changes the quantities of add-ons, at once: what is more is charged for the
// rest of the period, what is less is credited. It returns nil if there is nothing to do.
func (c *Customer) planAddOns(op *Operation, ch Changes) (*Operation, error) {
	s := c.Subscription
	if ch.Plan != nil || ch.Quantity != nil || ch.CancelAtPeriodEnd != nil || ch.EndTrial || ch.Pause != nil ||
		ch.Code != "" || ch.explains() {
		return nil, fault.InvalidFields([]fault.Field{{
			Pointer: "/add_ons", Code: "not_allowed_value", Detail: "Cannot be combined with another change.",
		}})
	}
	switch {
	case s.Paused:
		return nil, ErrSubscriptionPaused
	case s.Status == PastDue:
		return nil, ErrRenewalUnpaid
	case s.Pending != nil:
		return nil, ErrChangeScheduled
	}
	op.KeepQuantity = true
	if err := namedOnce(ch.AddOns); err != nil {
		return nil, err
	}
	for _, o := range ch.AddOns {
		current := s.quantityAt(o.AddOn.PriceRef)
		if o.Quantity == current {
			continue
		}
		if o.Quantity > current && !o.AddOn.soldBeside(s.Item.Rate) {
			return nil, ErrAddOnUnavailable
		}
		op.AddOns = append(op.AddOns, ItemOrder{Ref: o.AddOn.PriceRef, Quantity: o.Quantity})
	}
	if len(op.AddOns) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to do, and that is no error
	}
	return op, nil
}

// namedOnce returns fault.ErrInvalid if two orders are for one add-on.
func namedOnce(orders []AddOnOrder) error {
	ids := map[PlanID]bool{}
	for n, o := range orders {
		if ids[o.ID] {
			return fault.InvalidFields([]fault.Field{{
				Pointer: fmt.Sprintf("/add_ons/%d/id", n), Code: "not_allowed_value", Detail: "Is named twice.",
			}})
		}
		ids[o.ID] = true
	}
	return nil
}

// soldBeside reports whether an add-on can be bought beside a plan at a rate: it has the period and the currency.
func (p *Plan) soldBeside(r Rate) bool {
	return p.OnSale() && p.rate().samePeriod(r) && p.Price.Currency == r.Price.Currency
}

// withAddOns returns what is sold beside p, and what it costs per period. ErrAddOnUnavailable.
func (p *Plan) withAddOns(orders []AddOnOrder) (items []ItemOrder, sum int64, err error) {
	if err := namedOnce(orders); err != nil {
		return nil, 0, err
	}
	for _, o := range orders {
		if o.Quantity == 0 {
			continue
		}
		if !o.AddOn.soldBeside(p.rate()) {
			return nil, 0, ErrAddOnUnavailable
		}
		items = append(items, ItemOrder{Ref: o.AddOn.PriceRef, Quantity: o.Quantity})
		sum += o.AddOn.total(o.Quantity)
	}
	return items, sum, nil
}

// hasAddOns reports whether s has been sold with these add-ons, and no others.
func (s *Subscription) hasAddOns(orders []AddOnOrder) bool {
	count := 0
	for _, o := range orders {
		if o.Quantity == 0 {
			continue
		}
		if count++; s.quantityAt(o.AddOn.PriceRef) != o.Quantity {
			return false
		}
	}
	for _, i := range s.Items {
		if i.ID != s.Item.ID && !i.Metered {
			count--
		}
	}
	return count == 0
}

// addOnIDs returns the identifiers of the add-ons that orders name.
func addOnIDs(orders []AddOnOrder) (ids []string) {
	for _, o := range orders {
		ids = append(ids, string(o.ID))
	}
	return ids
}

// quantityAt returns the quantity of the item with a price that is not the plan's; 0 without one.
func (s *Subscription) quantityAt(ref string) int {
	n := slices.IndexFunc(s.Items, func(i Item) bool { return i.ID != s.Item.ID && !i.Metered && i.Rate.Ref == ref })
	if n < 0 {
		return 0
	}
	return s.Items[n].Quantity
}

// addOns sets what is sent for other quantities of add-ons. ErrChangeScheduled if a schedule would undo them when its
// next phase begins.
func (h *GatewaySubscription) addOns(item *Item, a Amendment, d *Difference) error {
	switch {
	case h.Schedule != nil && !h.Schedule.Idle():
		return ErrChangeScheduled
	case h.Status == PastDue:
		return ErrRenewalUnpaid
	}
	var changes []ItemChange
	missing, isChanged := slices.Clone(a.AddOns), false
	for _, i := range h.Items {
		change := ItemChange{ID: i.ID}
		n := slices.IndexFunc(missing, func(o ItemOrder) bool { return o.Ref == i.Rate.Ref })
		if i.ID != item.ID && !i.Metered && n >= 0 {
			if o := missing[n]; o.Quantity == 0 {
				change.Deleted = true
			} else if o.Quantity != i.Quantity {
				change.Quantity = o.Quantity
			}
			missing = slices.Delete(missing, n, n+1)
		}
		isChanged = isChanged || change != (ItemChange{ID: i.ID})
		changes = append(changes, change)
	}
	for _, o := range missing {
		if o.Quantity > 0 {
			changes, isChanged = append(changes, ItemChange{Ref: o.Ref, Quantity: o.Quantity}), true
		}
	}
	if isChanged {
		d.Items = changes
	}
	return nil
}

// mirroredItems returns the items of h as they are stored: in a constant order, and without their periods, which change
// with the subscription's period.
func (h *GatewaySubscription) mirroredItems() []Item {
	items := slices.Clone(h.Items)
	for n := range items {
		items[n].PeriodStart, items[n].PeriodEnd = time.Time{}, time.Time{}
	}
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.Rate.Ref, b.Rate.Ref), cmp.Compare(a.ID, b.ID))
	})
	return items
}

// ComponentKind says what a subscription item is.
type ComponentKind string

// The kinds.
const (
	PlanComponent  ComponentKind = "plan"
	AddOnComponent ComponentKind = "add_on"
	UsageComponent ComponentKind = "usage" // a metered price
	OtherComponent ComponentKind = "other" // an item that someone has added at the gateway
)

// Component is a subscription item as its workspace sees it.
type Component struct {
	Item
	Kind    ComponentKind
	Product *Plan // the plan or the add-on; nil if it is neither, or not configured
}

// Components returns the items of s: the plan's first, then the others by their prices.
func (s *Subscription) Components(plans, addOns Plans) []Component {
	var all []Component
	for _, i := range s.Items {
		part := Component{Item: i, Kind: OtherComponent}
		switch addOn := addOns.ByPrice(i.Rate.Ref); {
		case i.ID == s.Item.ID && i.ID != "":
			part.Kind = PlanComponent
			part.Product, _ = plans.Find(s.Plan)
		case i.Metered:
			part.Kind = UsageComponent
		case addOn != nil:
			part.Kind, part.Product = AddOnComponent, addOn
		}
		all = append(all, part)
	}
	slices.SortStableFunc(all, func(a, b Component) int {
		isOther := func(p Component) int {
			if p.Kind == PlanComponent {
				return 0
			}
			return 1
		}
		return isOther(a) - isOther(b)
	})
	return all
}

// added returns what the add-ons of s add to the limits of its plan, by name.
func (s *Subscription) added(addOns Plans) map[string]int64 {
	sum := map[string]int64{}
	for _, part := range s.Components(nil, addOns) {
		if part.Kind != AddOnComponent {
			continue
		}
		for name, n := range part.Product.Limits {
			sum[name] += n * int64(part.Quantity)
		}
	}
	return sum
}
