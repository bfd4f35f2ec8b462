package payments

import (
	"cmp"
	"context"
	"slices"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// Trials stores the marks by which used trials are recognised.
type Trials struct{ db *Store }

var _ ports.Trials = (*Trials)(nil)

// Claim implements ports.Trials. Marks are claimed in one order, so that two transactions do not wait for each other.
func (s *Trials) Claim(
	ctx context.Context, by identity.Actor, account string, marks []payment.TrialMark,
) (claims []payment.TrialMark, err error) {
	marks = slices.SortedFunc(slices.Values(marks), func(a, b payment.TrialMark) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Digest, b.Digest))
	})
	err = s.db.inTx(ctx, func(tx *Store) error {
		claims = nil
		for _, m := range marks {
			if _, err := tx.Exec(ctx, `
				INSERT INTO payment_trials (org_id, account, kind, digest, workspace_id, created_at)
				VALUES (?, ?, ?, ?, ?, ?)
				ON CONFLICT (org_id, account, kind, digest) DO NOTHING`,
				by.Org, account, m.Kind, m.Digest, by.Workspace, db.Micros(by.At)); err != nil {
				return err
			}
			var owner identity.WorkspaceID
			if _, err := tx.Get(ctx, &owner, `
				SELECT workspace_id FROM payment_trials WHERE org_id = ? AND account = ? AND kind = ? AND digest = ?`,
				by.Org, account, m.Kind, m.Digest); err != nil {
				return err
			}
			if owner != by.Workspace {
				claims = append(claims, m)
			}
		}
		return nil
	})
	return claims, err
}

// Release implements ports.Trials.
func (s *Trials) Release(ctx context.Context, by identity.Actor, account string) error {
	_, err := s.db.Exec(ctx, `DELETE FROM payment_trials WHERE org_id = ? AND account = ? AND workspace_id = ?`,
		by.Org, account, by.Workspace)
	return err
}
