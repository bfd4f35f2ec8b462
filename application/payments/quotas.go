package payments

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
)

// Quotas returns limits with those of the plan that by's workspace has, while it is entitled to it. It asks no
// gateway, and reads nothing where no plan of the org names a quota.
func (s *Service) Quotas(ctx context.Context, by identity.Actor, limits quota.Amounts) (quota.Amounts, error) {
	t := s.terms(by.Org)
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
	return limits.With(t.Plans.LimitsOf(c.Subscription, by.At, t.Grace)), nil
}
