package accounts

import (
	"context"
	"maps"
	"slices"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// ChangeAccess implements ports.People. Users are locked before workspaces, as in SignIn, and both by id.
func (s *People) ChangeAccess(ctx context.Context, by identity.Actor, id identity.UserID,
	change func(*account.Access) error) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		a, err := tx.Access(ctx, by.Org, id)
		if err != nil {
			return err
		}
		if err := change(a); err != nil {
			return err
		}
		if err := tx.savePowers(ctx, slices.Collect(maps.Values(a.Powers))...); err != nil {
			return err
		}
		return tx.SaveUser(ctx, a.User)
	})
}

// Access reads and locks a user, the org's operators, and the user's keys and endpoints in each workspace.
func (store *Store) Access(ctx context.Context, org identity.OrgID, id identity.UserID) (*account.Access, error) {
	a := &account.Access{Powers: map[identity.WorkspaceID]account.Powers{}}
	var rows []struct {
		ID       identity.UserID `db:"id"`
		Operates bool            `db:"operates"`
	}
	if err := store.List(ctx, &rows, `
		SELECT t.id, t.operator AND NOT t.service AND t.disabled_at = 0 AS operates FROM users t
		WHERE t.org_id = ? AND (t.id = ? OR t.operator) ORDER BY t.id`+store.Dialect.Lock, org, id); err != nil {
		return nil, err
	}
	for _, u := range rows {
		if u.Operates {
			a.Operators = append(a.Operators, u.ID)
		}
	}
	p, err := store.Person(ctx, org, id)
	if err != nil {
		return nil, err
	}
	a.User = &p.User
	if err := store.List(ctx, &a.MemberOf, `
		SELECT t.id FROM workspaces t JOIN memberships m ON m.workspace_id = t.id
		WHERE m.user_id = ? AND t.org_id = ? ORDER BY t.id`+store.Dialect.Lock, id, org); err != nil {
		return nil, err
	}
	var owned []struct {
		ID   identity.WorkspaceID `db:"id"`
		Slug string               `db:"slug"`
	}
	if err := store.List(ctx, &owned, `
		SELECT w.id, w.slug FROM memberships m JOIN workspaces w ON w.id = m.workspace_id
		WHERE m.user_id = ? AND w.org_id = ? AND m.role = ? AND w.deleted_at = 0 AND NOT EXISTS (
			SELECT 1 FROM memberships o JOIN users u ON u.id = o.user_id
			WHERE o.workspace_id = w.id AND o.role = ? AND o.user_id <> m.user_id AND NOT u.service
				AND u.disabled_at = 0)
		ORDER BY w.id`, id, org, identity.Owner, identity.Owner); err != nil {
		return nil, err
	}
	for _, w := range owned {
		a.OnlyOwnerOf = append(a.OnlyOwnerOf, account.OwnedWorkspace{ID: w.ID, Slug: w.Slug})
	}
	for _, ws := range a.MemberOf {
		if a.Powers[ws], err = store.powers(ctx, ws, id); err != nil {
			return nil, err
		}
	}
	return a, nil
}
