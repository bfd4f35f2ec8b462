package payments

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// Meters stores the usage that applications report.
type Meters struct{ db *Store }

var _ ports.Meters = (*Meters)(nil)

// Add implements ports.Meters.
func (s *Meters) Add(
	ctx context.Context, by identity.Actor, r payment.UsageReport,
) (sum int64, isRepetition bool, err error) {
	err = s.db.inTx(ctx, func(tx *Store) (err error) {
		tx.DeclareChange(by.Workspace)
		if isRepetition, err = tx.reported(ctx, by, r); err != nil {
			return err
		}
		if isRepetition {
			_, err = tx.Get(ctx, &sum, `SELECT used FROM feature_usage WHERE workspace_id = ? AND period_start = ?
				AND feature = ?`, by.Workspace, db.Micros(r.Period.Start), r.Feature)
			return err
		}
		_, err = tx.Get(ctx, &sum, `
			INSERT INTO feature_usage (workspace_id, feature, period_start, used, updated_at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (workspace_id, period_start, feature) DO UPDATE SET updated_at = excluded.updated_at,
				used = CASE WHEN feature_usage.used > ? - excluded.used THEN ? ELSE feature_usage.used + excluded.used
				END
			RETURNING used`,
			by.Workspace, r.Feature, db.Micros(r.Period.Start), r.Quantity, db.Micros(by.At),
			int64(payment.MaxUsageSum),
			int64(payment.MaxUsageSum))
		return err
	})
	return sum, isRepetition, err
}

// reported stores a report's key, and returns whether the workspace already had a report with that key.
func (store *Store) reported(ctx context.Context, by identity.Actor, r payment.UsageReport) (bool, error) {
	if r.Key == "" {
		return false, nil
	}
	if _, err := store.Exec(ctx, `DELETE FROM usage_reports WHERE workspace_id = ? AND report_key = ? AND created_at < ?`,
		by.Workspace, r.Key, db.Micros(by.At.Add(-payment.UsageKeyLasts))); err != nil {
		return false, err
	}
	count, err := store.Exec(ctx, `
		INSERT INTO usage_reports (workspace_id, report_key, feature, quantity, created_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (workspace_id, report_key) DO NOTHING`,
		by.Workspace, r.Key, r.Feature, r.Quantity, db.Micros(by.At))
	if err != nil || count > 0 {
		return false, err
	}
	var first struct {
		Feature  string `db:"feature"`
		Quantity int64  `db:"quantity"`
	}
	found, err := store.Get(ctx, &first, `SELECT feature, quantity FROM usage_reports WHERE workspace_id = ?
		AND report_key = ?`, by.Workspace, r.Key)
	switch {
	case err != nil:
		return false, err
	case !found:
		return false, db.ErrRaced // the cleanup removed it in between
	case first.Feature != r.Feature || first.Quantity != r.Quantity:
		return false, payment.ErrUsageKeyReused
	}
	return true, nil
}

// Sums implements ports.Meters.
func (s *Meters) Sums(ctx context.Context, ws identity.WorkspaceID, period time.Time) (map[string]int64, error) {
	var rows []struct {
		Feature string `db:"feature"`
		Used    int64  `db:"used"`
	}
	if err := s.db.List(ctx, &rows, `SELECT feature, used FROM feature_usage WHERE workspace_id = ?
		AND period_start = ?`, ws, db.Micros(period)); err != nil {
		return nil, err
	}
	sums := make(map[string]int64, len(rows))
	for _, r := range rows {
		sums[r.Feature] = r.Used
	}
	return sums, nil
}
