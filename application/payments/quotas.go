package payments

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
)

// Quotas returns the limits of by's workspace: configured, which are its org's, replaced by those of its
// plan while it is entitled to the plan. It calls no gateway, and reads nothing if no plan of the org
// has a limit.
func (s *Service) Quotas(ctx context.Context, by identity.Actor, configured quota.Amounts) (quota.Limits, error) {
	t := s.termsOf(by.Org)
	if t.Gateway == nil || !t.Plans.Limiting(quota.Kinds()) {
		return quota.Limits{Amounts: configured}, nil
	}
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if errors.Is(err, billing.ErrNoCustomer) {
		return t.Plans.Limits(configured, nil), nil
	}
	if err != nil {
		return quota.Limits{}, err
	}
	now, err := t.now(ctx, by)
	if err != nil {
		return quota.Limits{}, err
	}
	return t.Plans.Limits(configured, t.Plans.Entitling(c.Subscription, now, t.Grace)), nil
}
