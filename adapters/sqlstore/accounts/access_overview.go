package accounts

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
)

// overview is an account.AccessOverview that is being read.
type overview struct {
	*account.AccessOverview
	db    *Store
	now   time.Time
	limit int
	ids   []identity.WorkspaceID
	index map[identity.WorkspaceID]*account.WorkspaceAccess
}

// Overview implements ports.People.
func (s *People) Overview(
	ctx context.Context, org identity.OrgID, id identity.UserID, ws identity.WorkspaceID, now time.Time, limit int,
) (*account.AccessOverview, error) {
	var user userRow
	found, err := s.db.Get(ctx, &user, `SELECT `+userColumns+` FROM users t WHERE t.org_id = ? AND t.id = ?`, org, id)
	if err == nil && !found {
		err = account.ErrUserNotFound
	}
	if err != nil {
		return nil, err
	}
	o := &overview{AccessOverview: &account.AccessOverview{User: user.user()}, db: s.db, now: now, limit: limit,
		index: map[identity.WorkspaceID]*account.WorkspaceAccess{}}
	if err := o.loadMemberships(ctx, ws); err != nil || len(o.ids) == 0 {
		return o.AccessOverview, err
	}
	for _, load := range []func(context.Context) error{o.loadGroups, o.loadKeys, o.loadEndpoints, o.loadShares} {
		if err := load(ctx); err != nil {
			return nil, err
		}
	}
	return o.AccessOverview, nil
}

// fitting returns as many rows as the overview has room for.
func fitting[T any](o *overview, rows []T) []T {
	if len(rows) > o.limit {
		o.Truncated = true
		rows = rows[:o.limit]
	}
	return rows
}

// ofWorkspaces returns the condition that a column names one of the person's workspaces.
func (o *overview) ofWorkspaces(column string) *db.Conditions {
	c := db.NewConditions(`1 = 1`)
	db.OneOf(c, column, o.ids)
	return c
}

// loadMemberships reads the workspaces, which the other parts belong to.
func (o *overview) loadMemberships(ctx context.Context, ws identity.WorkspaceID) error {
	conditions := db.NewConditions(`m.user_id = ? AND t.org_id = ? AND t.deleted_at = 0`, o.User.ID, o.User.Org)
	conditions.When(ws != "", `t.id = ?`, ws)
	var rows []struct {
		membershipRow
		MemberRevision int64 `db:"member_revision"`
		JoinedAt       int64 `db:"joined_at"`
		ChangedAt      int64 `db:"changed_at"`
	}
	if err := o.db.List(ctx, &rows, `SELECT `+membershipColumns+`, m.revision AS member_revision,
		m.created_at AS joined_at, m.updated_at AS changed_at FROM memberships m
		JOIN workspaces t ON t.id = m.workspace_id WHERE `+conditions.SQL()+` ORDER BY t.slug LIMIT ?`,
		conditions.Args(o.limit+1)...); err != nil {
		return err
	}
	rows = fitting(o, rows)
	o.Workspaces = make([]account.WorkspaceAccess, len(rows))
	for i := range rows {
		r := &rows[i]
		o.Workspaces[i] = account.WorkspaceAccess{Workspace: r.workspace(), Member: account.Member{
			User: o.User.ID, Email: o.User.Email, Name: o.User.Name, Service: o.User.Service, Role: r.Role,
			ByHand: r.ByHand, Granted: account.Granted(r.Granted), Revision: r.MemberRevision,
			CreatedAt: db.FromMicros(r.JoinedAt), UpdatedAt: db.FromMicros(r.ChangedAt),
		}}
		o.ids = append(o.ids, r.ID)
		o.index[r.ID] = &o.Workspaces[i]
	}
	return nil
}

func (o *overview) loadGroups(ctx context.Context) error {
	conditions := o.ofWorkspaces(`p.workspace_id`)
	conditions.When(true, `p.user_id = ?`, o.User.ID)
	var rows []groupRow
	if err := o.db.List(ctx, &rows, `SELECT `+groupColumns+` FROM group_people p JOIN user_groups t ON t.id = p.group_id
		WHERE `+conditions.SQL()+` ORDER BY t.name_key, t.id LIMIT ?`, conditions.Args(o.limit+1)...); err != nil {
		return err
	}
	for _, r := range fitting(o, rows) {
		w := o.index[r.Workspace]
		w.Groups = append(w.Groups, r.group())
	}
	return nil
}

// keysMade begins a statement with a user's keys, those that the user is responsible for, and the keys created
// with them, as keysOf selects them in one workspace. conditions are about keys r.
func keysMade(conditions *db.Conditions) string {
	return `WITH RECURSIVE made (id, user_id) AS (
		SELECT r.id, r.user_id FROM api_keys r WHERE ` + conditions.SQL() + `
			AND (r.user_id = ? OR ` + responsible + ` = ? AND r.service)
		UNION SELECT c.id, c.user_id FROM api_keys c JOIN made ON c.made_by_key = made.id
		WHERE c.made_by_key <> '' AND c.kept_by = ''
	)`
}

// loadKeys reads the keys that are not revoked and have not expired.
func (o *overview) loadKeys(ctx context.Context) error {
	conditions := o.ofWorkspaces(`r.workspace_id`)
	var rows []keyRow
	if err := o.db.List(ctx, &rows, keysMade(conditions)+` SELECT `+keyColumns+` FROM api_keys t
		WHERE t.id IN (SELECT id FROM made) AND t.revoked_at = 0 AND (t.expires_at = 0 OR t.expires_at > ?)
		ORDER BY t.id DESC LIMIT ?`,
		conditions.Args(o.User.ID, o.User.ID, db.Micros(o.now), o.limit+1)...); err != nil {
		return err
	}
	for _, r := range fitting(o, rows) {
		w := o.index[r.Workspace]
		w.Keys = append(w.Keys, r.key())
	}
	return nil
}

// loadEndpoints reads the webhooks and reply endpoints that the person or a program of their keys owns.
func (o *overview) loadEndpoints(ctx context.Context) error {
	keys, hooks := o.ofWorkspaces(`r.workspace_id`), o.ofWorkspaces(`w.workspace_id`)
	replies := o.ofWorkspaces(`c.workspace_id`)
	var rows []struct {
		Kind      account.EndpointKind `db:"kind"`
		ID        string               `db:"id"`
		Name      string               `db:"name"`
		Owner     identity.UserID      `db:"owner"`
		Workspace identity.WorkspaceID `db:"workspace_id"`
	}
	args := keys.Args(o.User.ID, o.User.ID)
	args = append(append(args, hooks.Values...), replies.Values...)
	args = append(args, connection.ReplyEndpoint, connection.OpenAICompatible, o.User.ID, o.User.ID, o.limit+1)
	if err := o.db.List(ctx, &rows, keysMade(keys)+`, endpoints AS (
			SELECT 'webhook' AS kind, w.id, w.url AS name, COALESCE(NULLIF(w.owner_id, ''), w.created_by) AS owner,
				w.workspace_id FROM webhooks w WHERE `+hooks.SQL()+` AND NOT w.ownerless
			UNION ALL SELECT 'reply_endpoint', c.id, c.name, COALESCE(NULLIF(c.owner_id, ''), c.created_by),
				c.workspace_id FROM connections c
			WHERE `+replies.SQL()+` AND NOT c.ownerless AND c.revoked_at = 0 AND c.kind IN (?, ?)
		) SELECT kind, id, name, owner, workspace_id FROM endpoints
		WHERE owner = ? OR owner IN (SELECT user_id FROM made WHERE user_id <> ?) ORDER BY id LIMIT ?`,
		args...); err != nil {
		return err
	}
	for _, r := range fitting(o, rows) {
		w := o.index[r.Workspace]
		w.Endpoints = append(w.Endpoints, account.NamedEndpoint{Kind: r.Kind, ID: r.ID, Name: r.Name, Owner: r.Owner})
	}
	return nil
}

// loadShares reads what is shared with the person and their groups, after these were read.
func (o *overview) loadShares(ctx context.Context) error {
	holders := []identity.UserID{o.User.ID}
	for i := range o.Workspaces {
		for _, g := range o.Workspaces[i].Groups {
			holders = append(holders, g.ID)
		}
	}
	conditions := o.ofWorkspaces(`s.workspace_id`)
	db.OneOf(conditions, `s.user_id`, holders)
	shares := conditions.SQL()
	var args []any
	for range 2 {
		args = append(append(args, conditions.Values...), db.Micros(o.now))
	}
	args = append(append(args, conditions.Values...), o.limit+1)
	var rows []struct {
		Kind      account.ShareKind    `db:"kind"`
		ID        string               `db:"id"`
		Name      string               `db:"name"`
		Role      access.Role          `db:"role"`
		Holder    identity.UserID      `db:"user_id"`
		ExpiresAt int64                `db:"expires_at"`
		Workspace identity.WorkspaceID `db:"workspace_id"`
	}
	if err := o.db.List(ctx, &rows, `
		SELECT 'prompt_template' AS kind, t.id, t.name, s.access AS role, s.user_id, s.expires_at, s.workspace_id
			FROM prompt_shares s JOIN prompt_templates t ON t.id = s.template_id AND t.deleted_at = 0
			WHERE `+shares+` AND (s.expires_at = 0 OR s.expires_at > ?)
		UNION ALL SELECT 'prompt_folder', s.id, s.folder, s.access, s.user_id, s.expires_at, s.workspace_id
			FROM prompt_folder_shares s WHERE `+shares+` AND (s.expires_at = 0 OR s.expires_at > ?)
		UNION ALL SELECT 'chat_template', t.id, t.name, s.role, s.user_id, 0, s.workspace_id
			FROM chat_members s JOIN chat_templates t ON t.id = s.template_id AND t.deleted_at = 0 WHERE `+shares+`
		ORDER BY 1, 3, 2, 5 LIMIT ?`, args...); err != nil {
		return err
	}
	for _, r := range fitting(o, rows) {
		share := account.HeldShare{Kind: r.Kind, ID: r.ID, Name: r.Name, Role: r.Role,
			ExpiresAt: db.FromMicros(r.ExpiresAt)}
		if r.Holder != o.User.ID {
			share.Group = r.Holder
		}
		w := o.index[r.Workspace]
		w.Shares = append(w.Shares, share)
	}
	return nil
}
