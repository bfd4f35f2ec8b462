package payments

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
)

// Quotas returns limits, replaced by those of the workspace's plan while it is entitled to the plan. It
// calls no gateway, and reads nothing if no plan of the org has a limit.
func (s *Service) Quotas(ctx context.Context, by identity.Actor, limits quota.Amounts) (quota.Amounts, error) {
	t := s.termsOf(by.Org)
	if t.Gateway == nil || !t.Plans.Limiting(quota.Kinds()) {
		return limits, nil
	}
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if errors.Is(err, billing.ErrNoCustomer) {
		return limits, nil
	}
	if err != nil {
		return quota.Amounts{}, err
	}
	if c.Subscription == nil {
		return limits, nil
	}
	now, err := t.now(ctx, by)
	if err != nil {
		return quota.Amounts{}, err
	}
	return limits.With(t.Plans.LimitsOf(c.Subscription, now, t.Grace)), nil
}
