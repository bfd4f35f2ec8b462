package accounts

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// KeyRequests counts requests with API keys.
type KeyRequests struct{ db *Store }

var _ ports.KeyRequests = (*KeyRequests)(nil)

// AddRequests implements ports.KeyRequests.
func (s *KeyRequests) AddRequests(ctx context.Context, org identity.OrgID, requests account.KeyRequests) error {
	// In the same order on all nodes, to prevent deadlocks.
	days := slices.SortedFunc(maps.Keys(requests), func(a, b account.KeyDay) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Day, b.Day))
	})
	for batch := range slices.Chunk(days, db.UsesAtOnce) {
		rows := make([][]any, len(batch))
		for i, d := range batch {
			rows[i] = []any{d.Key, org, d.Day, requests[d]}
		}
		// Each key is found by itself. If the statement joined the keys, both engines would read the whole table.
		if err := s.db.inTx(ctx, func(tx *Store) error {
			return tx.WriteRows(ctx, `
				INSERT INTO key_requests (key_id, day, requests)
				WITH counted (key_id, org_id, day, requests) AS (
					VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS INTEGER), CAST(? AS BIGINT))`, `)
				SELECT c.key_id, c.day, c.requests FROM counted c
				WHERE (SELECT k.org_id FROM api_keys k WHERE k.id = c.key_id) = c.org_id
				ON CONFLICT (key_id, day) DO UPDATE SET requests = key_requests.requests + excluded.requests`, rows)
		}); err != nil {
			return err
		}
		for _, d := range batch { // so that a later failure does not count them twice
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
	err := s.db.List(ctx, &rows, `SELECT r.key_id, r.day, r.requests FROM api_keys k
		JOIN key_requests r ON r.key_id = k.id WHERE k.workspace_id = ? AND r.day > ? AND r.day <= ?
		AND k.id IN (`+db.Placeholders(len(ids))+`)`, args...)
	found := make(account.KeyRequests, len(rows))
	for _, r := range rows {
		found[account.KeyDay{Key: r.Key, Day: r.Day}] = r.Requests
	}
	return found, err
}
