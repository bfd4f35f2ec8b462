package db

import (
	"context"
	"slices"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Follow is ports.Events.Follow.
func (db *DB) Follow(ws identity.WorkspaceID) (news <-chan struct{}, stop func()) {
	f, wake := db.followers, make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all[ws] == nil {
		f.all[ws] = map[chan struct{}]struct{}{}
	}
	f.all[ws][wake] = struct{}{}
	return wake, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if delete(f.all[ws], wake); len(f.all[ws]) == 0 {
			delete(f.all, ws)
			delete(f.told, ws)
		}
	}
}

// Recorded returns a channel that receives after this process has stored a change while someone follows events, so that
// Link of package events can run at once.
func (db *DB) Recorded() <-chan struct{} { return db.followers.recorded }

// Followed reports whether someone follows events. Then Link of package events should run more often, since other nodes
// do not announce their changes.
func (db *DB) Followed() bool { return len(db.followers.workspaces()) > 0 }

// ChainEnds returns the last removed and the last given place of a workspace's chain of events; 0 without one.
func (db *DB) ChainEnds(
	ctx context.Context, org identity.OrgID, ws identity.WorkspaceID,
) (base, last int64, err error) {
	var row struct {
		Base int64 `db:"base_seq"`
		Last int64 `db:"seq"`
	}
	_, err = db.Get(ctx, &row, `SELECT base_seq, seq FROM event_chains WHERE workspace_id = ? AND org_id = ?`, ws, org)
	return row.Base, row.Last, err
}

// LatestPlace returns the place in a workspace's chain that the latest committed event has or will get. Events are
// linked in the order of their ids.
func (db *DB) LatestPlace(ctx context.Context, org identity.OrgID, ws identity.WorkspaceID) (place int64, err error) {
	_, err = db.Get(ctx, &place, `SELECT COALESCE((SELECT seq FROM event_chains WHERE workspace_id = ? AND org_id = ?), 0)
		+ (SELECT COUNT(*) FROM new_events WHERE workspace_id = ? AND org_id = ?)
		+ (SELECT COUNT(*) FROM events WHERE workspace_id = ? AND org_id = ? AND chain_seq = 0 AND signature IS NOT NULL)`,
		ws, org, ws, org, ws, org)
	return place, err
}

// TellFollowers wakes those who follow workspaces that have new events, on this node or another.
func (db *DB) TellFollowers(ctx context.Context) error {
	for batch := range slices.Chunk(db.followers.workspaces(), 256) {
		conditions := NewConditions(`TRUE`)
		OneOf(conditions, `workspace_id`, batch)
		var ends []struct {
			Workspace identity.WorkspaceID `db:"workspace_id"`
			Seq       int64                `db:"seq"`
		}
		if err := db.List(ctx, &ends, `SELECT workspace_id, seq FROM event_chains WHERE `+conditions.SQL(),
			conditions.Args()...); err != nil {
			return err
		}
		for _, end := range ends {
			db.followers.tell(end.Workspace, end.Seq)
		}
	}
	return nil
}
