package payments

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

// QueueUsage implements ports.UsageOutbox.
func (s *Meters) QueueUsage(
	ctx context.Context, by identity.Actor, e payment.UsageEvent, start time.Time,
) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		count, err := tx.Exec(ctx, `
			UPDATE usage_events SET quantity = quantity + ? WHERE workspace_id = ? AND tried_at = 0 AND id = (
				SELECT MIN(id) FROM usage_events WHERE workspace_id = ? AND account = ? AND customer = ? AND feature = ?
				AND price_ref = ? AND tried_at = 0 AND at >= ?)`,
			e.Quantity, by.Workspace, by.Workspace, e.Account, e.Customer, e.Feature, e.PriceRef, db.Micros(start))
		if err != nil || count > 0 {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO usage_events (workspace_id, id, account, customer, feature, price_ref, quantity, at, tried_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)`,
			by.Workspace, e.ID, e.Account, e.Customer, e.Feature, e.PriceRef, e.Quantity, db.Micros(e.At))
		return err
	})
}

// QueuedUsage implements ports.UsageOutbox.
func (s *Meters) QueuedUsage(
	ctx context.Context, ws identity.WorkspaceID, account string, n int,
) ([]payment.UsageEvent, error) {
	var rows []struct {
		ID       string             `db:"id"`
		Customer payment.CustomerID `db:"customer"`
		Feature  string             `db:"feature"`
		PriceRef string             `db:"price_ref"`
		Quantity int64              `db:"quantity"`
		At       int64              `db:"at"`
		TriedAt  int64              `db:"tried_at"`
	}
	if err := s.db.List(ctx, &rows, `
		SELECT id, customer, feature, price_ref, quantity, at, tried_at FROM usage_events
		WHERE workspace_id = ? AND account = ? ORDER BY at, id LIMIT ?`, ws, account, n); err != nil {
		return nil, err
	}
	events := make([]payment.UsageEvent, len(rows))
	for i, r := range rows {
		events[i] = payment.UsageEvent{
			ID: r.ID, Account: account, Customer: r.Customer, Feature: r.Feature, PriceRef: r.PriceRef,
			Quantity: r.Quantity, At: db.FromMicros(r.At), TriedAt: db.FromMicros(r.TriedAt),
		}
	}
	return events, nil
}

// TryUsage implements ports.UsageOutbox.
func (s *Meters) TryUsage(
	ctx context.Context, ws identity.WorkspaceID, id string, now time.Time,
) (quantity int64, wasTried bool, err error) {
	err = s.db.inTx(ctx, func(tx *Store) (err error) {
		wasTried, err = tx.Get(ctx, &quantity, `UPDATE usage_events SET tried_at = ? WHERE workspace_id = ? AND id = ?
			AND tried_at = 0 RETURNING quantity`, db.Micros(now), ws, id)
		return err
	})
	return quantity, wasTried, err
}

// RestoreUsage implements ports.UsageOutbox.
func (s *Meters) RestoreUsage(ctx context.Context, ws identity.WorkspaceID, id string) error {
	_, err := s.db.Exec(ctx, `UPDATE usage_events SET tried_at = 0 WHERE workspace_id = ? AND id = ?`, ws, id)
	return err
}

// SentUsage implements ports.UsageOutbox.
func (s *Meters) SentUsage(ctx context.Context, ws identity.WorkspaceID, id string) error {
	_, err := s.db.Exec(ctx, `DELETE FROM usage_events WHERE workspace_id = ? AND id = ?`, ws, id)
	return err
}
