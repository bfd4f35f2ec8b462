package accounts

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

var _ ports.LinkedSignIns = (*Users)(nil)

// SignInLinked implements ports.LinkedSignIns.
func (s *Users) SignInLinked(
	ctx context.Context, org identity.OrgID, all []account.SignIn, settle func(*account.SignIn) error,
) (others []account.SignIn, err error) {
	err = s.db.inTx(ctx, func(tx *Store) error {
		var linked []*linkedSignIn
		if linked, others, err = tx.loadLinked(ctx, org, all); err != nil {
			return err
		}
		workspaces, err := tx.loadWorkspacesOf(ctx, org, linked)
		if err != nil {
			return err
		}
		settled := linked[:0]
		for _, in := range linked {
			if in.isMaker {
				others = append(others, in.original)
				continue
			}
			err := settle(&in.SignIn)
			if err != nil && !errors.Is(err, identity.ErrUnauthenticated) {
				return err
			}
			if err == nil {
				settled = append(settled, in)
			}
		}
		return tx.saveLinked(ctx, org, settled, workspaces)
	})
	return others, err
}

// linkedSignIn is one of several sign-ins, which share their workspaces.
type linkedSignIn struct {
	account.SignIn
	original account.SignIn
	names    map[string]bool // slugs of Workspaces
	isMaker  bool            // responsible for keys of programs or for endpoints
}

// loadLinked reads and locks the people of those sign-ins that change at most the person and memberships, and returns
// the other sign-ins.
func (store *Store) loadLinked(
	ctx context.Context, org identity.OrgID, all []account.SignIn,
) (linked []*linkedSignIn, others []account.SignIn, err error) {
	people, err := store.lockedPeople(ctx, org, all)
	if err != nil {
		return nil, nil, err
	}
	var group identity.UserID
	hasGroups, err := store.Get(ctx, &group,
		`SELECT id FROM user_groups WHERE org_id = ? AND external_id <> '' LIMIT 1`, org)
	if err != nil {
		return nil, nil, err
	}
	for _, original := range all {
		p := people[original.Claims.Subject]
		email := original.Email()
		if p == nil || (email != "" && account.EmailKey(email) != account.EmailKey(p.User.Email)) {
			others = append(others, original)
			continue
		}
		in := &linkedSignIn{SignIn: original, original: original, names: map[string]bool{}}
		for _, r := range in.Org.ClaimRules {
			in.names[r.Workspace] = true
		}
		in.MemberOf = map[identity.UserID][]identity.WorkspaceID{}
		in.IssuedAt, in.Linked = p.IssuedAt, matchingUser(p, &in.SignIn, in.names)
		if email != "" {
			in.ByEmail = in.Linked
		}
		if hasGroups {
			following, err := store.followingGroups(ctx, org, &in.SignIn, in.names)
			if err != nil {
				return nil, nil, err
			}
			if len(following) > 0 {
				others = append(others, original)
				continue
			}
		}
		linked = append(linked, in)
	}
	return linked, others, nil
}

// lockedPeople is lockedPersonBySubject for the subjects of sign-ins at one issuer. It leaves out subjects without a
// link.
func (store *Store) lockedPeople(
	ctx context.Context, org identity.OrgID, all []account.SignIn,
) (map[string]*account.Person, error) {
	people := map[string]*account.Person{}
	for batch := range slices.Chunk(all, 500) {
		subjects := make([]string, len(batch))
		for i := range batch {
			subjects[i] = batch[i].Claims.Subject
		}
		conditions := db.NewConditions(`t.org_id = ? AND t.issuer = ?`, org, batch[0].Claims.Issuer)
		db.OneOf(conditions, `t.subject`, subjects)
		var links []struct {
			Subject  string          `db:"subject"`
			User     identity.UserID `db:"user_id"`
			IssuedAt int64           `db:"issued_at"`
		}
		if err := store.List(ctx, &links, `SELECT t.subject, t.user_id, t.issued_at FROM sign_ins t WHERE `+
			conditions.SQL()+` ORDER BY t.subject`+store.Dialect.Lock, conditions.Args()...); err != nil {
			return nil, err
		}
		ids := make([]identity.UserID, len(links))
		for i := range links {
			ids[i] = links[i].User
		}
		users, err := store.lockedUsers(ctx, org, ids)
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			if p := users[l.User]; p != nil {
				p.IssuedAt = db.FromMicros(l.IssuedAt)
				people[l.Subject] = p
			}
		}
	}
	return people, nil
}

// lockedUsers is lockedPerson for several users. It leaves out those that do not exist.
func (store *Store) lockedUsers(
	ctx context.Context, org identity.OrgID, ids []identity.UserID,
) (map[identity.UserID]*account.Person, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	conditions := db.NewConditions(`t.org_id = ?`, org)
	db.OneOf(conditions, `t.id`, ids)
	var users []userRow
	if err := store.List(ctx, &users, `SELECT `+userColumns+` FROM users t WHERE `+conditions.SQL()+` ORDER BY t.id`+
		store.Dialect.Lock, conditions.Args()...); err != nil {
		return nil, err
	}
	people := map[identity.UserID]*account.Person{}
	for i := range users {
		people[users[i].ID] = &account.Person{User: users[i].user()}
	}
	conditions = db.NewConditions(`t.org_id = ? AND t.deleted_at = 0`, org)
	db.OneOf(conditions, `m.user_id`, ids)
	var rows []struct {
		membershipRow
		User identity.UserID `db:"user_id"`
	}
	if err := store.List(ctx, &rows, `SELECT `+membershipColumns+`, m.user_id FROM memberships m
		JOIN workspaces t ON t.id = m.workspace_id WHERE `+conditions.SQL()+` ORDER BY t.id`,
		conditions.Args()...); err != nil {
		return nil, err
	}
	for _, r := range rows {
		if p := people[r.User]; p != nil {
			p.Memberships = append(p.Memberships, r.membership())
		}
	}
	return people, nil
}

// loadWorkspacesOf reads and locks the workspaces of sign-ins, with everyone's memberships and personal keys, and finds
// out who is a maker: the others have no powers besides.
func (store *Store) loadWorkspacesOf(
	ctx context.Context, org identity.OrgID, linked []*linkedSignIn,
) (map[string]*account.Workspace, error) {
	names, users := map[string]bool{}, make([]identity.UserID, len(linked))
	for i, in := range linked {
		maps.Copy(names, in.names)
		users[i] = in.Linked.ID
	}
	workspaces, makers := map[string]*account.Workspace{}, map[identity.UserID]bool{}
	for _, slug := range slices.Sorted(maps.Keys(names)) { // locks are taken in one order
		w, err := store.lockedWorkspaceBySlug(ctx, org, slug)
		if errors.Is(err, identity.ErrWorkspaceNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := store.loadMembers(ctx, w, users...); err != nil {
			return nil, err
		}
		found, err := store.makersAmong(ctx, w.ID, w.Members)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			makers[id] = true
		}
		if err := store.loadPersonalKeys(ctx, w, users); err != nil {
			return nil, err
		}
		workspaces[slug] = w
	}
	for _, in := range linked {
		in.isMaker = makers[in.Linked.ID]
		in.Workspaces = map[string]*account.Workspace{}
		for slug := range in.names {
			if w := workspaces[slug]; w != nil {
				in.Workspaces[slug] = w
			}
		}
	}
	return workspaces, nil
}

// loadPersonalKeys is LoadPowers for users who are no makers: whatever their keys have created is theirs, too.
func (store *Store) loadPersonalKeys(
	ctx context.Context, w *account.Workspace, users []identity.UserID,
) error {
	w.Powers = map[identity.UserID]account.Powers{}
	for batch := range slices.Chunk(users, 500) {
		conditions := db.NewConditions(`TRUE`)
		db.OneOf(conditions, `r.user_id`, batch)
		keys, err := store.keysFrom(ctx, w.ID, conditions.SQL(), conditions.Args()...)
		if err != nil {
			return err
		}
		for _, k := range keys {
			powers := w.Powers[k.User]
			powers.Keys = append(powers.Keys, k)
			w.Powers[k.User] = powers
		}
	}
	return nil
}

// saveLinked writes what the settlement of linked sign-ins has changed.
func (store *Store) saveLinked(
	ctx context.Context, org identity.OrgID, settled []*linkedSignIn, workspaces map[string]*account.Workspace,
) error {
	saved, subjects := map[identity.UserID]bool{}, map[int64][]string{}
	for _, in := range settled {
		issued := db.Micros(in.IssuedAt)
		subjects[issued] = append(subjects[issued], in.Claims.Subject)
		if saved[in.User.ID] {
			continue
		}
		saved[in.User.ID] = true
		if err := store.SaveUser(ctx, in.User); err != nil {
			return err
		}
	}
	for issued, all := range subjects {
		for batch := range slices.Chunk(all, 500) {
			conditions := db.NewConditions(`org_id = ? AND issuer = ? AND issued_at < ?`, org,
				settled[0].Claims.Issuer, issued)
			db.OneOf(conditions, `subject`, batch)
			if _, err := store.Exec(ctx, `UPDATE sign_ins SET issued_at = ? WHERE `+conditions.SQL(),
				append([]any{issued}, conditions.Args()...)...); err != nil {
				return err
			}
		}
	}
	for _, slug := range slices.Sorted(maps.Keys(workspaces)) {
		if err := store.SaveWorkspace(ctx, workspaces[slug]); err != nil {
			return err
		}
	}
	return nil
}
