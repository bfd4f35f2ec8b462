package payment

import (
	"maps"
	"time"

	"github.com/atrium-hq/atrium/domain/quota"
)

// Grant is what a subscription entitles its workspace to.
type Grant struct {
	Plan     *Plan
	Quantity int // of Plan
}

// Entitling returns what a subscription entitles its workspace to at now; nil if that is nothing.
func (p Plans) Entitling(s *Subscription, now time.Time, grace time.Duration) *Grant {
	if s == nil || !s.Entitled(now, grace) {
		return nil
	}
	plan, err := p.Find(s.Plan)
	if err != nil {
		return nil
	}
	return &Grant{Plan: plan, Quantity: s.Quantity}
}

// limits returns the limits of g by name.
func (g *Grant) limits() map[string]int64 { return g.Plan.LimitsOf(g.Quantity) }

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
	_, isLimited := p.LimitsOf(1)[name]
	return isLimited
}

// seatKinds returns the amounts that each unit of p has.
func (p *Plan) seatKinds() map[quota.Kind]int64 {
	kinds := map[quota.Kind]int64{}
	for name, n := range p.SeatLimits {
		kinds[quota.Kind(name)] = n
	}
	return kinds
}
