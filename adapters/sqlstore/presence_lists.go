package sqlstore

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/presence"
)

// List implements ports.Presences.
func (s *Presences) List(ctx context.Context, by identity.Actor, f presence.Filter, q page.Query) (presence.Page, error) {
	where := newConditions(`org_id = ? AND NOT deleted`, by.Org)
	where.when(q.After != "", `id < ?`, q.After)
	where.when(f.Status != "", `(shown = ? OR user_id = ?)`, f.Status, by.User)
	where.when(f.User != "", `user_id = ?`, f.User)
	where.when(f.SinceSeq > 0, `seq > ?`, f.SinceSeq)
	var rows []presenceRow
	if err := s.db.list(ctx, &rows, selectPresence+where.sql()+` ORDER BY id DESC LIMIT ?`, where.args(q.Limit+1)...); err != nil {
		return presence.Page{}, err
	}
	records := make([]presence.Record, len(rows))
	for i := range rows {
		r, err := rows[i].record()
		if err != nil {
			return presence.Page{}, err
		}
		records[i] = *r
	}
	return page.Cut(records, q.Limit, func(r presence.Record) string { return string(r.ID) }), nil
}

// Counts implements ports.Presences.
func (s *Presences) Counts(ctx context.Context, org identity.OrgID) (presence.Counts, int64, error) {
	var seq int64 // read first: what changes meanwhile has a higher one
	if _, err := s.db.get(ctx, &seq, `SELECT seq FROM presence_seqs WHERE org_id = ?`, org); err != nil {
		return nil, 0, err
	}
	var rows []struct {
		Shown presence.Status `db:"shown"`
		N     int             `db:"n"`
	}
	if err := s.db.list(ctx, &rows, `SELECT shown, count(*) AS n FROM presences WHERE org_id = ? AND NOT deleted GROUP BY shown`, org); err != nil {
		return nil, 0, err
	}
	counts := presence.Counts{}
	for _, row := range rows {
		counts[row.Shown] = row.N
	}
	return counts, seq, nil
}

// Due implements ports.Presences.
func (s *Presences) Due(ctx context.Context, org identity.OrgID, now time.Time, limit int) (users []identity.UserID, err error) {
	err = s.db.list(ctx, &users, `SELECT user_id FROM presences WHERE org_id = ? AND due_at > 0 AND due_at <= ? ORDER BY due_at LIMIT ?`, org, micros(now), limit)
	return users, err
}

// Together implements ports.Presences.
func (s *Presences) Together(ctx context.Context, by identity.Actor, user identity.UserID) (bool, error) {
	where := newConditions(`w.org_id = ? AND w.deleted_at = 0 AND mine.user_id = ? AND theirs.user_id = ?`, by.Org, by.User, user)
	where.when(by.Key != "", `w.id = ?`, by.Workspace)
	var one int
	return s.db.get(ctx, &one, `SELECT 1 FROM memberships mine JOIN memberships theirs ON theirs.workspace_id = mine.workspace_id
		JOIN workspaces w ON w.id = mine.workspace_id WHERE `+where.sql()+` LIMIT 1`, where.args()...)
}
