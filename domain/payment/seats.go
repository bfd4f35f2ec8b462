package payment

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/quota"
)

// ErrSeatsInUse reports that a plan with a seat for each member was asked for with fewer seats.
var ErrSeatsInUse = &fault.Error{Kind: fault.Conflict, Code: "seats_in_use",
	Detail: "The workspace has more members and open invitations than seats were asked for."}

// Grant is what a subscription entitles its workspace to.
type Grant struct {
	Plan     *Plan
	Quantity int              // of Plan
	Added    map[string]int64 // to the limits of Plan, by add-ons
}

// Entitling returns what a subscription entitles its workspace to at now; nil if that is nothing.
func (p Plans) Entitling(s *Subscription, addOns Plans, now time.Time, grace time.Duration) *Grant {
	if s == nil || !s.Entitled(now, grace) {
		return nil
	}
	plan, err := p.Find(s.Plan)
	if err != nil {
		return nil
	}
	return &Grant{Plan: plan, Quantity: s.Quantity, Added: s.added(addOns)}
}

// limit returns what a workspace with g has of a name that its application counts, if it had a plan; false if the plan
// does not limit it. g can be nil.
func (g *Grant) limit(p *Plan, name string) (limit int64, isLimited bool) {
	quantity, added := 1, int64(0)
	if g != nil {
		quantity, added = g.Quantity, g.Added[name]
	}
	limit, isLimited = p.LimitsOf(quantity)[name]
	return limit + added, isLimited
}

// LimitsOf returns the limits by name of a workspace that has a quantity of p.
func (p *Plan) LimitsOf(quantity int) map[string]int64 {
	limits := maps.Clone(p.Limits)
	if limits == nil {
		limits = map[string]int64{}
	}
	for name, n := range p.SeatLimits {
		limits[name] = n * int64(quantity)
	}
	return limits
}

// limited reports whether p limits a name, whatever its quantity.
func (p *Plan) limited(name string) bool {
	_, isLimited := p.Limits[name]
	_, isPerSeat := p.SeatLimits[name]
	return isLimited || isPerSeat
}

// seatKinds returns the amounts that each unit of p has.
func (p *Plan) seatKinds() map[quota.Kind]int64 {
	kinds := map[quota.Kind]int64{}
	for name, n := range p.SeatLimits {
		kinds[quota.Kind(name)] = n
	}
	return kinds
}

// SeatsFor returns the quantity of p to buy for a number of members, if a caller asks for a quantity; 0 asks for what
// they need. ErrSeatsInUse, with the quantity, if they need more.
func (p *Plan) SeatsFor(members int64, quantity int) (int, error) {
	needed := 1
	if p.Seats == quota.Members {
		needed = int(max(members, 1))
	}
	switch {
	case quantity == 0:
		return needed, nil
	case quantity < needed:
		return quantity, ErrSeatsInUse.Because(fmt.Sprintf("The workspace has %d members and open invitations, and "+
			"the plan has a seat for each. Choose a larger quantity, or remove members first.", members))
	}
	return quantity, nil
}

// CheckSeats returns ErrSeatsInUse if ch leaves fewer seats than there are members.
func (c *Customer) CheckSeats(ch Changes, plans Plans, members int64) error {
	s := c.Subscription
	if s == nil || (ch.Plan == nil && ch.Quantity == nil) {
		return nil
	}
	id, quantity := s.Plan, s.Quantity
	if ch.Plan != nil {
		id = *ch.Plan
	}
	if ch.Quantity != nil {
		quantity = *ch.Quantity
	}
	plan, err := plans.Find(id)
	if err != nil { // which the change itself reports
		return nil
	}
	_, err = plan.SeatsFor(members, quantity)
	return err
}

// SeatsToRenew returns the quantity with which the subscription is to renew, if its plan has a seat for each member; 0
// if nothing is to be changed. It is never more than the quantity now, because only people buy seats.
func (c *Customer) SeatsToRenew(plans Plans, members int64) int {
	s := c.LiveSubscription()
	if s == nil || s.Status != Active || s.Paused || s.Confirming || !s.EndsAt.IsZero() {
		return 0
	}
	plan, err := plans.Find(s.Plan)
	if err != nil || plan.Seats != quota.Members {
		return 0
	}
	next := s.Quantity
	if p := s.Pending; p != nil {
		if p.Elsewhere || p.Plan != s.Plan {
			return 0
		}
		next = p.Quantity
	}
	if target := int(min(max(members, 1), int64(s.Quantity))); target != next {
		return target
	}
	return 0
}

// Seats reports whether one of the plans has a seat for each member.
func (p Plans) Seats() bool {
	return slices.ContainsFunc(p, func(p Plan) bool { return p.Seats != "" })
}
