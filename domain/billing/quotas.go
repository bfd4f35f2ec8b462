package billing

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

// LimitsOf returns the limits of the plan that a subscription entitles its workspace to at now; nil if
// it entitles to none.
func (p Plans) LimitsOf(s *Subscription, now time.Time, grace time.Duration) map[string]int64 {
	if s == nil || !s.Entitled(now, grace) {
		return nil
	}
	plan, err := p.Find(s.Plan)
	if err != nil {
		return nil
	}
	return plan.Limits
}
