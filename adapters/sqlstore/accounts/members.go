package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// loadMembers reads the memberships of users, and counts the people who are owners.
func (store *Store) loadMembers(ctx context.Context, w *account.Workspace, users ...identity.UserID) error {
	for _, user := range users {
		var row memberRow
		found, err := store.Get(ctx, &row, `SELECT `+memberColumns+` FROM memberships m JOIN users u ON u.id = m.user_id
			WHERE m.workspace_id = ? AND m.user_id = ?`, w.ID, user)
		if err != nil {
			return err
		}
		if found {
			w.Members[user] = row.member()
			store.RememberMember(w, row.member())
			if row.member().Service {
				if err := store.loadMakers(ctx, w, user); err != nil {
					return err
				}
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

// saveMember writes one membership. Without a role it is removed, with the shares that depend on it.
func (store *Store) saveMember(ctx context.Context, w *account.Workspace, m account.Member) error {
	store.RememberMember(w, m)
	if m.Role != identity.NoRole {
		_, err := store.Exec(ctx, `
			INSERT INTO memberships (workspace_id, user_id, role, by_hand, granted, revision, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (workspace_id, user_id) DO UPDATE SET role = excluded.role, by_hand = excluded.by_hand,
			granted = excluded.granted, revision = excluded.revision, updated_at = excluded.updated_at`,
			w.ID, m.User, m.Role, m.ByHand, db.Granted(m.Granted), m.Revision, db.Micros(m.CreatedAt),
			db.Micros(m.UpdatedAt))
		return err
	}
	if _, err := store.Exec(ctx, `DELETE FROM memberships WHERE workspace_id = ? AND user_id = ?`, w.ID,
		m.User); err != nil {
		return err
	}
	return store.removeShares(ctx, w.ID, m.User)
}

// removeShares removes what is shared with a user or group in a workspace.
func (store *Store) removeShares(ctx context.Context, ws identity.WorkspaceID, user identity.UserID) error {
	for _, query := range []string{
		`DELETE FROM prompt_shares WHERE workspace_id = ? AND user_id = ?`,
		`DELETE FROM prompt_folder_shares WHERE workspace_id = ? AND user_id = ?`,
		`DELETE FROM chat_members WHERE workspace_id = ? AND user_id = ?`,
	} {
		if _, err := store.Exec(ctx, query, ws, user); err != nil {
			return err
		}
	}
	return nil
}
