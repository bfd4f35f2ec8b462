package presences

import (
	"context"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/presence"
)

// List implements ports.Presences. With a filter by status, the caller's own record is a separate branch: it is found
// with any status.
func (s *Presences) List(
	ctx context.Context, by identity.Actor, f presence.Filter, q page.Query,
) (presence.Page, error) {
	conditions := db.NewConditions(`org_id = ? AND NOT deleted`, by.Org)
	conditions.When(f.User != "", `user_id = ?`, f.User)
	conditions.PageBounds(`id`, q.After, "")
	floor := ""
	if f.SinceSeq > 0 && f.User == "" {
		branch := db.Branch{From: `presences`, ID: `id`, Where: conditions}
		var err error
		if floor, err = s.db.PageFloor(ctx, s.db.Scans.Presences, branch); err != nil {
			return presence.Page{}, err
		}
		conditions.PageBounds(`id`, "", floor)
	}
	conditions.When(f.SinceSeq > 0, `seq > ?`, f.SinceSeq)
	sql, args := conditions.SQL(), conditions.Args()
	if f.Status != "" {
		sql = `id IN (
			SELECT id FROM (SELECT id FROM presences WHERE shown = ? AND ` + conditions.SQL() + ` ORDER BY id DESC LIMIT ?) a
			UNION
			SELECT id FROM presences WHERE user_id = ? AND ` + conditions.SQL() + `)`
		args = append([]any{f.Status}, conditions.Args(q.Limit+1, by.User)...)
		args = append(args, conditions.Args()...)
	}
	records, err := s.records(ctx, sql+` ORDER BY id DESC LIMIT ?`, append(args, q.Limit+1)...)
	if err != nil {
		return presence.Page{}, err
	}
	return db.ContinueAt(page.Cut(records, q.Limit, func(r presence.Record) string { return string(r.ID) }), floor), nil
}

// Counts implements ports.Presences.
func (s *Presences) Counts(
	ctx context.Context, org identity.OrgID, reader identity.UserID,
) (presence.Counts, int64, error) {
	seq, err := s.latestSeq(ctx, org, reader) // read first: concurrent changes have a higher one
	if err != nil {
		return nil, 0, err
	}
	var rows []struct {
		Shown presence.Status `db:"shown"`
		N     int             `db:"n"`
	}
	if err := s.db.List(ctx, &rows, `SELECT shown, count(*) AS n FROM presences WHERE org_id = ? AND NOT deleted
		GROUP BY shown`, org); err != nil {
		return nil, 0, err
	}
	counts := presence.Counts{}
	for _, row := range rows {
		counts[row.Shown] = row.N
	}
	return counts, seq, nil
}

// latestSeq returns the highest Seq that a reader can see. What people do while they are invisible changes seq, but
// never hidden_seq.
func (s *Presences) latestSeq(
	ctx context.Context, org identity.OrgID, reader identity.UserID,
) (seq int64, err error) {
	if reader == "" {
		_, err = s.db.Get(ctx, &seq, `SELECT seq FROM presence_seqs WHERE org_id = ?`, org)
		return seq, err
	}
	_, err = s.db.Get(ctx, &seq, `SELECT COALESCE(MAX(seq), 0) FROM (
		SELECT seq FROM (SELECT seq FROM presences WHERE org_id = ? AND (hidden_seq = 0 OR user_id = ?)
			ORDER BY seq DESC LIMIT 1) a
		UNION ALL SELECT hidden_seq FROM (SELECT hidden_seq FROM presences WHERE org_id = ? AND hidden_seq > 0
			ORDER BY hidden_seq DESC LIMIT 1) b) t`, org, reader, org)
	return seq, err
}

// Due implements ports.Presences.
func (s *Presences) Due(ctx context.Context, org identity.OrgID, by time.Time, cursor presence.DueEntry,
	limit int) ([]presence.DueEntry, error) {
	var rows []struct {
		User identity.UserID `db:"user_id"`
		Due  int64           `db:"due_at"`
	}
	err := s.db.List(ctx, &rows, `SELECT user_id, due_at FROM presences WHERE org_id = ? AND due_at > 0 AND due_at <= ?
		AND (due_at, user_id) > (?, ?)
		ORDER BY due_at, user_id LIMIT ?`, org, db.Micros(by), db.Micros(cursor.Due), cursor.User, limit)
	out := make([]presence.DueEntry, len(rows))
	for i, row := range rows {
		out[i] = presence.DueEntry{User: row.User, Due: db.FromMicros(row.Due)}
	}
	return out, err
}

// Changes implements ports.Presences.
func (s *Presences) Changes(ctx context.Context, org identity.OrgID, newest int64, users []identity.UserID,
	limit int) ([]presence.Record, error) {
	conditions := db.NewConditions(`org_id = ? AND seq > ?`, org, newest)
	db.OneOf(conditions, `user_id`, users)
	return s.records(ctx, conditions.SQL()+` ORDER BY seq LIMIT ?`, conditions.Args(limit)...)
}

func (s *Presences) records(ctx context.Context, condition string, args ...any) ([]presence.Record, error) {
	var rows []presenceRow
	if err := s.db.List(ctx, &rows, selectPresence+condition, args...); err != nil {
		return nil, err
	}
	records := make([]presence.Record, len(rows))
	for i := range rows {
		r, err := rows[i].record()
		if err != nil {
			return nil, err
		}
		records[i] = *r
	}
	return records, nil
}

// workspacesAtOnce is the number of users per statement; SQLite accepts 32,766 values.
const workspacesAtOnce = 4096

// Workspaces implements ports.Presences.
func (s *Presences) Workspaces(ctx context.Context, org identity.OrgID,
	users []identity.UserID) (map[identity.UserID][]identity.WorkspaceID, error) {
	out := map[identity.UserID][]identity.WorkspaceID{}
	for batch := range slices.Chunk(users, workspacesAtOnce) {
		conditions := db.NewConditions(`w.org_id = ? AND w.deleted_at = 0`, org)
		db.OneOf(conditions, `m.user_id`, batch)
		var rows []struct {
			User      identity.UserID      `db:"user_id"`
			Workspace identity.WorkspaceID `db:"workspace_id"`
		}
		if err := s.db.List(ctx, &rows, `SELECT m.user_id, m.workspace_id FROM memberships m
			JOIN workspaces w ON w.id = m.workspace_id
			WHERE `+conditions.SQL()+` ORDER BY m.user_id, m.workspace_id`, conditions.Args()...); err != nil {
			return nil, err
		}
		for _, row := range rows {
			out[row.User] = append(out[row.User], row.Workspace)
		}
	}
	return out, nil
}
