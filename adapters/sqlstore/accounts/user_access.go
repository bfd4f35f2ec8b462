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
	for _, ws := range a.MemberOf {
		if a.Powers[ws], err = store.powers(ctx, ws, id); err != nil {
			return nil, err
		}
	}
	return a, nil
}
