package db

import (
	"context"
	"math"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

var _ ports.Changes = (*DB)(nil)

// Generation implements ports.Changes.
func (db *DB) Generation(ws identity.WorkspaceID) (generation uint64, isSettled bool) {
	count, all := db.changes.counter(ws), &db.changes.all
	// The pending count is read first: a change that is no longer pending has been counted.
	isSettled = count.pending.Load() == 0 && all.pending.Load() == 0
	return count.ended.Load() + all.ended.Load(), isSettled
}

// ObservedGeneration implements ports.Changes.
func (db *DB) ObservedGeneration(ws identity.WorkspaceID) (generation uint64, current bool) {
	return db.observed.generation(ws)
}

// lookAtChanges reads the changes of all transactions that have ended since the last look. A transaction that it sees,
// and that had not ended then, is not below the last look's horizon. One statement reads both in one snapshot.
const lookAtChanges = `
	SELECT pg_postmaster_start_time()::text AS server,
		(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint AS clock,
		pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon,
		COALESCE((SELECT string_agg(c.xid || ' ' || c.workspace_id, ',') FROM
			(SELECT xid, workspace_id FROM workspace_changes WHERE xid >= ? LIMIT ?) c), '') AS changed, ` + endedIn

// lookAtTime is lookAtChanges on SQLite, where the data version reveals changes of other processes.
const lookAtTime = `SELECT ` + endedIn

const endedIn = `COALESCE((SELECT string_agg(workspace_id, ',') FROM (
	SELECT workspace_id FROM prompt_shares WHERE expires_at > ? AND expires_at <= ? AND expires_at > 0
	UNION SELECT workspace_id FROM prompt_folder_shares WHERE expires_at > ? AND expires_at <= ? AND
		expires_at > 0) e), '') AS ended`

// LookForChanges observes the changes of all nodes, on SQLite of other processes, and the shares that have expired at
// now. For a second afterwards, cached data that has not changed is current. On SQLite it does nothing while no one
// reads.
func (db *DB) LookForChanges(ctx context.Context, now time.Time) error {
	e := db.observed
	e.mu.Lock()
	defer e.mu.Unlock()
	if db.connector == nil && !e.asked.Swap(false) {
		return nil
	}
	age, from := time.Since(e.begun), e.last.Horizon
	if e.last.Server == "" {
		from = math.MaxInt64
	}
	earlier := now.Add(-endedShares)
	if !e.ended.IsZero() && e.ended.Before(earlier) {
		earlier = e.ended
	}
	start, end := Micros(earlier), Micros(now)
	query, args := lookAtTime, []any{start, end, start, end}
	if db.connector != nil {
		query, args = lookAtChanges, append([]any{from, maxLooked + 1}, args...)
	}
	var found look
	if db.groups != nil {
		version, err := db.groups.dataVersion(ctx)
		if err != nil {
			return err
		}
		found.Server = version
	}
	if _, err := db.ForCredentials().Get(ctx, &found, query, args...); err != nil {
		return err
	}
	e.ended = now
	e.count(&found)
	e.looked.Store(max(int64(age), 1))
	return db.removeChanges(ctx)
}

// removeChanges removes old rows, once in changesKept: in two turns after a change, since the first one leaves those
// that are not old yet. The caller holds e.mu.
func (db *DB) removeChanges(ctx context.Context) error {
	e := db.observed
	if e.removals == 0 || time.Duration(e.last.Clock-e.old.Clock)*time.Microsecond < changesKept {
		return nil
	}
	if _, err := db.Exec(ctx, `DELETE FROM workspace_changes WHERE xid < ?`, e.old.Horizon); err != nil {
		return err
	}
	e.old = e.last
	e.removals--
	return nil
}
