package accounts

import (
	"context"
	"slices"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// loadMembers reads the memberships of users, and counts the people who are owners.
func (store *Store) loadMembers(ctx context.Context, w *account.Workspace, users ...identity.UserID) error {
	for batch := range slices.Chunk(users, 500) {
		conditions := db.NewConditions(`m.workspace_id = ?`, w.ID)
		db.OneOf(conditions, `m.user_id`, batch)
		var rows []memberRow
		if err := store.List(ctx, &rows, `SELECT `+memberColumns+` FROM memberships m JOIN users u ON u.id = m.user_id
			WHERE `+conditions.SQL(), conditions.Args()...); err != nil {
			return err
		}
		for _, m := range db.Convert(rows, (*memberRow).member) {
			w.Members[m.User] = m
			store.RememberMember(w, m)
			if !m.Service {
				continue
			}
			if err := store.loadMakers(ctx, w, m.User); err != nil {
				return err
			}
		}
	}
	_, err := store.Get(ctx, &w.Owners, `SELECT COUNT(*) FROM memberships m JOIN users u ON u.id = m.user_id
		WHERE m.workspace_id = ? AND m.role = ? AND NOT u.service`, w.ID, identity.Owner)
	return err
}

// loadMakers reads who created or kept a program's keys, and the keys with which these were created. Revoked keys
// count: a program can revoke its own.
func (store *Store) loadMakers(ctx context.Context, w *account.Workspace, program identity.UserID) error {
	var makers []identity.UserID
	if err := store.List(ctx, &makers, `
		WITH RECURSIVE up (created_by, kept_by, made_by_key) AS (
			SELECT k.created_by, k.kept_by, k.made_by_key FROM api_keys k
			WHERE k.workspace_id = ? AND k.user_id = ?
			UNION SELECT p.created_by, p.kept_by, p.made_by_key FROM api_keys p JOIN up ON p.id = up.made_by_key
		) SELECT created_by FROM up WHERE created_by <> '' UNION SELECT kept_by FROM up WHERE kept_by <> ''
		ORDER BY 1`, w.ID, program); err != nil {
		return err
	}
	if w.Makers == nil {
		w.Makers, w.Retired = map[identity.UserID][]identity.UserID{}, map[identity.UserID]bool{}
	}
	w.Makers[program] = makers
	var working int
	_, err := store.Get(ctx, &working, `SELECT COUNT(*) FROM api_keys WHERE workspace_id = ? AND user_id = ?
		AND revoked_at = 0 AND suspended_at = 0`, w.ID, program)
	w.Retired[program] = working == 0
	return err
}

// loadMakersRoles reads the memberships of the people who created or kept a program's keys.
func (store *Store) loadMakersRoles(ctx context.Context, w *account.Workspace, program identity.UserID) error {
	if len(w.Makers[program]) == 0 {
		return nil
	}
	return store.loadMembers(ctx, w, w.Makers[program]...)
}

// saveMembers writes memberships. Those without a role are removed, with the shares that depend on them.
func (store *Store) saveMembers(ctx context.Context, w *account.Workspace, members ...account.Member) error {
	var rows [][]any
	var former []identity.UserID
	for _, m := range members {
		store.RememberMember(w, m)
		if m.Role == identity.NoRole {
			former = append(former, m.User)
			continue
		}
		rows = append(rows, []any{w.ID, m.User, m.Role, m.ByHand, db.Granted(m.Granted), m.Revision,
			db.Micros(m.CreatedAt), db.Micros(m.UpdatedAt)})
	}
	if err := store.WriteRows(ctx, `
		INSERT INTO memberships (workspace_id, user_id, role, by_hand, granted, revision, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		` ON CONFLICT (workspace_id, user_id) DO UPDATE SET role = excluded.role, by_hand = excluded.by_hand,
		granted = excluded.granted, revision = excluded.revision, updated_at = excluded.updated_at`, rows); err != nil {
		return err
	}
	return store.removeOf(ctx, w.ID, former, append([]string{"memberships"}, sharing...)...)
}

// sharing are the tables of what is shared with users and groups in workspaces.
var sharing = []string{"prompt_shares", "prompt_folder_shares", "chat_members"}

// removeOf removes the rows of users in a workspace from tables.
func (store *Store) removeOf(
	ctx context.Context, ws identity.WorkspaceID, users []identity.UserID, tables ...string,
) error {
	for batch := range slices.Chunk(users, 500) { // none without users
		conditions := db.NewConditions(`workspace_id = ?`, ws)
		db.OneOf(conditions, `user_id`, batch)
		for _, table := range tables {
			if _, err := store.Exec(ctx, `DELETE FROM `+table+` WHERE `+conditions.SQL(),
				conditions.Args()...); err != nil {
				return err
			}
		}
	}
	return nil
}
