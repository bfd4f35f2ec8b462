package payments

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// StreamSeats stores the number of streams that each node has open for each workspace.
type StreamSeats struct{ db *Store }

var _ ports.StreamSeats = (*StreamSeats)(nil)

// Take implements ports.StreamSeats. It locks the workspace's usage.
func (s *StreamSeats) Take(ctx context.Context, ws identity.WorkspaceID, node string, now time.Time,
	check func(usage quota.Amounts) error) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		var id identity.WorkspaceID
		found, err := tx.Get(ctx, &id, `SELECT t.workspace_id FROM workspace_usage t WHERE t.workspace_id = ?`+
			tx.Dialect.Lock, ws)
		if err == nil && !found {
			err = identity.ErrWorkspaceNotFound
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			INSERT INTO stream_counts (workspace_id, node, streams) VALUES (?, ?, 1)
			ON CONFLICT (workspace_id, node) DO UPDATE SET streams = stream_counts.streams + 1`, ws, node); err != nil {
			return err
		}
		usage, err := (&Usage{tx}).Amounts(ctx, ws, now)
		if err != nil {
			return err
		}
		return check(usage)
	})
}

// Free implements ports.StreamSeats.
func (s *StreamSeats) Free(ctx context.Context, ws identity.WorkspaceID, node string) error {
	_, err := s.db.Exec(ctx, `UPDATE stream_counts SET streams = streams - 1 WHERE workspace_id = ? AND node = ?
		AND streams > 0`, ws, node)
	return err
}

// Keep implements ports.StreamSeats.
func (s *StreamSeats) Keep(ctx context.Context, node string, now, end time.Time) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		if _, err := tx.Exec(ctx, `
			INSERT INTO stream_nodes (node, alive_until) VALUES (?, ?)
			ON CONFLICT (node) DO UPDATE SET alive_until = excluded.alive_until`, node, db.Micros(end)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM stream_nodes WHERE alive_until < ? AND node <> ?`, db.Micros(now), node)
		return err
	})
}
