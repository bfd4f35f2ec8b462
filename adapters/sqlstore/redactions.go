package sqlstore

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/idempotency"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// CompleteErasure implements ports.Erasures. Each step is repeatable.
func (s *Erasures) CompleteErasure(
	ctx context.Context, org identity.OrgID, id identity.UserID, now time.Time,
) error {
	e, err := s.Erasure(ctx, org, id)
	if err != nil || !e.EndedAt.IsZero() {
		return err
	}
	r := event.NewRedactor(e.User, e.Terms)
	if e.Report.Events, err = s.db.Events().Redact(ctx, org, r, now); err != nil {
		return err
	}
	if e.Report.Responses, err = idempotency.Redact(ctx, s.db.DB, org, r); err != nil {
		return err
	}
	if err := s.db.endErasure(ctx, e, now); err != nil {
		return err
	}
	return s.db.EraseFreePages(ctx)
}
