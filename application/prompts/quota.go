package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// addWithinQuotas runs a change that adds to a workspace in one transaction. If a quota of the kinds that add
// returns is exceeded, the transaction is rolled back with a *quota.LimitError. Limits are read before
// the transaction starts.
func (s *Service) addWithinQuotas(ctx context.Context, by identity.Actor,
	add func(tx ports.Stores) ([]quota.Kind, error)) error {
	limits, err := s.quotas(ctx, by)
	if err != nil {
		return err
	}
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		kinds, err := add(tx)
		if err != nil {
			return err
		}
		return tx.CheckUsage(ctx, by, limits, kinds...)
	})
}

// quotasOfGrowth returns the quotas that a change must respect: none unless it made something larger, so that a
// workspace above its quota can still change what it has.
func quotasOfGrowth(previous, next int) []quota.Kind {
	if next > previous {
		return []quota.Kind{quota.StorageBytes}
	}
	return nil
}
