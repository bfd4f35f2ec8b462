package db

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
)

// OwnerLeftColumn selects whether the owner of t is no longer a member. It counts because PostgreSQL may turn NOT
// EXISTS into a hash of all memberships, which costs 1.5 ms with 4,000 of them; a count is an index look-up for each
// row.
const OwnerLeftColumn = `, (SELECT COUNT(*) FROM memberships m WHERE m.workspace_id = t.workspace_id
	AND m.user_id = t.owner_id) = 0 AS owner_left`

// LockLiveWorkspace locks the workspace, so that no other transaction changes its number of live objects.
func (db *DB) LockLiveWorkspace(ctx context.Context, org identity.OrgID, ws identity.WorkspaceID) error {
	var id identity.WorkspaceID
	found, err := db.Get(ctx, &id, `SELECT t.id FROM workspaces t WHERE t.org_id = ? AND t.id = ? AND t.deleted_at = 0`+
		db.Dialect.Lock, org, ws)
	if err == nil && !found {
		return identity.ErrWorkspaceNotFound
	}
	return err
}

// LockWorkspace locks a workspace, if it exists, so that its memberships do not change.
func (db *DB) LockWorkspace(ctx context.Context, ws identity.WorkspaceID) error {
	var one int
	_, err := db.Get(ctx, &one, `SELECT 1 FROM workspaces t WHERE t.id = ?`+db.Dialect.Lock, ws)
	return err
}

// MembersOf returns which of users are members of a workspace, or groups in it. It locks the workspace, as every
// change of a membership does, so that memberships do not change until the transaction ends.
func (db *DB) MembersOf(ctx context.Context, ws identity.WorkspaceID,
	users []identity.UserID) (map[identity.UserID]bool, error) {
	members := map[identity.UserID]bool{}
	if len(users) == 0 {
		return members, nil
	}
	if err := db.LockWorkspace(ctx, ws); err != nil {
		return nil, err
	}
	var one int
	for _, user := range users {
		query := `SELECT 1 FROM memberships WHERE workspace_id = ? AND user_id = ?`
		if user.IsGroup() {
			query = `SELECT 1 FROM user_groups WHERE workspace_id = ? AND id = ?`
		}
		found, err := db.Get(ctx, &one, query, ws, user)
		if err != nil {
			return nil, err
		}
		if found {
			members[user] = true
		}
	}
	return members, nil
}

// Ungroup stops the look-up of groups and folders for a user who is in none any more.
func (db *DB) Ungroup(ctx context.Context, ws identity.WorkspaceID, user identity.UserID) error {
	_, err := db.Exec(ctx, `UPDATE memberships SET grouped = FALSE WHERE workspace_id = ? AND user_id = ? AND NOT EXISTS
		(SELECT 1 FROM group_people p WHERE p.workspace_id = memberships.workspace_id
		AND p.user_id = memberships.user_id) AND NOT EXISTS (SELECT 1 FROM prompt_folder_shares f
		WHERE f.workspace_id = memberships.workspace_id AND f.user_id = memberships.user_id)`, ws, user)
	return err
}
