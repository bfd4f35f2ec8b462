package sqlstore

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// redactedAtOnce is how many rows are read for one transaction of a redaction.
const redactedAtOnce = 500

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
	if e.Report.Responses, err = s.db.eraseResponses(ctx, org, r); err != nil {
		return err
	}
	if err := s.db.endErasure(ctx, e, now); err != nil {
		return err
	}
	return s.db.EraseFreePages(ctx)
}

// eraseResponses removes the stored responses that name the person. A repeated request with the same Idempotency-Key is
// told that its response was erased.
func (store *DB) eraseResponses(ctx context.Context, org identity.OrgID, r *event.Redactor) (changed int, err error) {
	for after := []byte{}; ; {
		var rows []struct {
			Scope []byte `db:"scope"`
			Body  []byte `db:"body"`
		}
		if err := store.List(ctx, &rows, `SELECT scope, body FROM idempotency_keys WHERE scope > ? AND org_id = ?
			AND reveals = '' AND until = 0 ORDER BY scope LIMIT ?`, after, org, redactedAtOnce); err != nil {
			return changed, err
		}
		for _, row := range rows {
			after = row.Scope
			if !r.Names(string(row.Body)) {
				continue
			}
			changed++
			if _, err := store.Exec(ctx, `UPDATE idempotency_keys SET body = ?, request = ? WHERE scope = ? AND org_id = ?`,
				[]byte{}, []byte{}, row.Scope, org); err != nil {
				return changed, err
			}
		}
		if len(rows) < redactedAtOnce {
			return changed, nil
		}
	}
}
