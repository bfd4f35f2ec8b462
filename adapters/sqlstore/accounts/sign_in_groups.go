package accounts

import (
	"context"
	"maps"
	"slices"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// followingGroups returns the groups with an external id that a sign-in may change, by workspace, and adds the slugs of
// these workspaces to names. It looks at the workspaces of the accounts that the claims match, and at the workspaces in
// names, which the person may join by a rule.
func (store *Store) followingGroups(
	ctx context.Context, org identity.OrgID, s *account.SignIn, names map[string]bool,
) (map[identity.WorkspaceID][]identity.UserID, error) {
	groups, ok := s.Claims.Groups(s.Org)
	if !ok {
		return nil, nil
	}
	var workspaces []identity.WorkspaceID
	if len(names) > 0 {
		conditions := db.NewConditions(`org_id = ? AND deleted_at = 0`, org)
		db.OneOf(conditions, `slug`, slices.Sorted(maps.Keys(names)))
		if err := store.List(ctx, &workspaces, `SELECT id FROM workspaces WHERE `+conditions.SQL(),
			conditions.Args()...); err != nil {
			return nil, err
		}
	}
	for _, memberOf := range s.MemberOf {
		workspaces = append(workspaces, memberOf...)
	}
	var user identity.UserID
	switch {
	case s.Linked != nil:
		user = s.Linked.ID
	case s.ByEmail != nil:
		user = s.ByEmail.ID
	}
	following := map[identity.WorkspaceID][]identity.UserID{}
	slices.Sort(workspaces)
	for batch := range slices.Chunk(slices.Compact(workspaces), 500) {
		var rows []struct {
			ID        identity.UserID      `db:"id"`
			Workspace identity.WorkspaceID `db:"workspace_id"`
			Slug      string               `db:"slug"`
			External  string               `db:"external_id"`
			IsIn      bool                 `db:"is_in"`
		}
		conditions := db.NewConditions(`t.external_id <> '' AND w.deleted_at = 0`)
		db.OneOf(conditions, `t.workspace_id`, batch)
		if err := store.List(ctx, &rows, `SELECT t.id, t.workspace_id, w.slug, t.external_id, EXISTS (SELECT 1
			FROM group_people p WHERE p.group_id = t.id AND p.user_id = ?) AS is_in FROM user_groups t
			JOIN workspaces w ON w.id = t.workspace_id WHERE `+conditions.SQL()+` ORDER BY t.id`,
			append([]any{user}, conditions.Args()...)...); err != nil {
			return nil, err
		}
		for _, r := range rows {
			_, isListed := slices.BinarySearch(groups, r.External)
			// Only a linked account is certain to be the one that signs in.
			if (s.Linked != nil && isListed != r.IsIn) || (s.Linked == nil && (isListed || r.IsIn)) {
				following[r.Workspace] = append(following[r.Workspace], r.ID)
				names[r.Slug] = true
			}
		}
	}
	return following, nil
}

// saveFollowing writes the groups that a sign-in has changed. It must be called after the workspaces are saved.
func (store *Store) saveFollowing(ctx context.Context, s *account.SignIn) error {
	for _, g := range s.Groups {
		if len(g.Recorded()) == 0 {
			continue
		}
		previous := maps.Clone(g.People)
		for _, w := range s.Workspaces {
			if w.ID != g.Workspace {
				continue
			}
			if m := w.Members[s.User.ID]; !store.IsMemberStored(w, m) { // a group can change access without a new role
				if err := store.saveMembers(ctx, w, m); err != nil {
					return err
				}
			}
		}
		if _, isIn := g.People[s.User.ID]; isIn {
			delete(previous, s.User.ID)
		} else {
			previous[s.User.ID] = struct{}{}
		}
		if err := store.saveGroup(ctx, g, previous); err != nil {
			return err
		}
		if err := store.Record(ctx, g.RecordedAt(g.Revision, string(g.ID))); err != nil {
			return err
		}
		store.Forget()
	}
	return nil
}
