package payments

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
)

// Quotas returns the limits of by's workspace: its org's limits, replaced by its plan's limits while it
// is entitled to the plan. It calls no gateway, and reads nothing if no plan of the org has a limit.
func (s *Service) Quotas(ctx context.Context, by identity.Actor) (quota.Limits, error) {
	amounts := s.deps.Quotas(by.Org)
	t := s.deps.Terms(by.Org)
	if t.Gateway == nil || (!t.Plans.Limiting(quota.Kinds()) && !t.AddOns.Limiting(quota.Kinds())) {
		return quota.Limits{Amounts: amounts}, nil
	}
	c, now, err := s.mirrored(ctx, by, t)
	if err != nil {
		return quota.Limits{}, err
	}
	return t.Plans.Limits(amounts, t.grant(c, now)), nil
}
