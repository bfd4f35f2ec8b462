package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// addWithinQuotas runs a change that adds to a workspace in one transaction, and returns its result. If a quota of the
// kinds that add returns is exceeded, the transaction is rolled back with a *quota.LimitError. Limits are read before
// the transaction starts.
func addWithinQuotas[T any](ctx context.Context, s *Service, by identity.Actor,
	add func(tx ports.Stores) (T, []quota.Kind, error)) (T, error) {
	limits, err := s.quotas(ctx, by)
	if err != nil {
		var zero T
		return zero, err
	}
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (T, error) {
		result, kinds, err := add(tx)
		if err != nil {
			return result, err
		}
		return result, tx.CheckUsage(ctx, by, limits, kinds...)
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
