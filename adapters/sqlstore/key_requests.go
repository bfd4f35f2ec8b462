package sqlstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// KeyRequests counts requests with API keys.
type KeyRequests struct{ db *DB }

var _ ports.KeyRequests = (*KeyRequests)(nil)

// AddRequests implements ports.KeyRequests.
func (s *KeyRequests) AddRequests(ctx context.Context, org identity.OrgID, requests account.KeyRequests) error {
	// In the same order on all nodes, to prevent deadlocks.
	ordered := slices.SortedFunc(maps.Keys(requests), func(a, b account.KeyDay) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Day, b.Day))
	})
	for some := range slices.Chunk(ordered, usesAtOnce) {
		if err := s.db.inTx(ctx, func(tx *DB) error {
			for _, d := range some {
				if _, err := tx.exec(ctx, `INSERT INTO key_requests (key_id, day, requests)
					SELECT k.id, CAST(? AS INTEGER), CAST(? AS BIGINT) FROM api_keys k WHERE k.id = ? AND k.org_id = ?
					ON CONFLICT (key_id, day) DO UPDATE SET requests = key_requests.requests + excluded.requests`,
					d.Day, requests[d], d.Key, org); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		for _, d := range some { // so that a later failure does not count them twice
			delete(requests, d)
		}
	}
	return nil
}

// Requests implements ports.KeyRequests.
func (s *KeyRequests) Requests(
	ctx context.Context, ws identity.WorkspaceID, ids []identity.KeyID, now time.Time,
) (account.KeyRequests, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []struct {
		Key      identity.KeyID `db:"key_id"`
		Day      int            `db:"day"`
		Requests int64          `db:"requests"`
	}
	args := []any{ws, account.DayOf(now) - account.RequestDays, account.DayOf(now)}
	for _, id := range ids {
		args = append(args, id)
	}
	err := s.db.list(ctx, &rows, `SELECT r.key_id, r.day, r.requests FROM api_keys k
		JOIN key_requests r ON r.key_id = k.id WHERE k.workspace_id = ? AND r.day > ? AND r.day <= ?
		AND k.id IN (`+placeholders(len(ids))+`)`, args...)
	found := make(account.KeyRequests, len(rows))
	for _, r := range rows {
		found[account.KeyDay{Key: r.Key, Day: r.Day}] = r.Requests
	}
	return found, err
}
