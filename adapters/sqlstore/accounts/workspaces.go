package accounts

import (
	"context"
	"maps"
	"slices"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
)

// Workspaces stores workspaces and their members.
type Workspaces struct{ db *Store }

var _ ports.Workspaces = (*Workspaces)(nil)

// Add implements ports.Workspaces.
func (s *Workspaces) Add(ctx context.Context, w *account.Workspace) error {
	return s.db.inTx(ctx, func(tx *Store) error { return tx.addWorkspace(ctx, w) })
}

// List implements ports.Workspaces.
func (s *Workspaces) List(ctx context.Context, org identity.OrgID, q page.Query) (account.WorkspacePage, error) {
	var rows []workspaceRow
	err := s.db.List(ctx, &rows, `
		SELECT `+workspaceColumns+` FROM workspaces t
		WHERE t.org_id = ? AND t.slug > ? ORDER BY t.slug LIMIT ?`, org, q.After, q.Limit+1)
	if err != nil {
		return account.WorkspacePage{}, err
	}
	all := db.Convert(rows, (*workspaceRow).workspace)
	return page.Cut(all, q.Limit, func(w account.Workspace) string { return w.Slug }), nil
}

// Find implements ports.Workspaces.
func (s *Workspaces) Find(ctx context.Context, org identity.OrgID, idOrSlug string) (*account.Workspace, error) {
	column := `t.slug`
	if id.Valid(identity.WorkspacePrefix, idOrSlug) {
		column = `t.id`
	}
	return s.db.findWorkspace(ctx, `t.org_id = ? AND `+column+` = ?`, org, idOrSlug)
}

// Get implements ports.Workspaces.
func (s *Workspaces) Get(ctx context.Context, by identity.Actor, id identity.WorkspaceID) (*account.Workspace, error) {
	w, err := s.db.findWorkspace(ctx, `t.org_id = ? AND t.id = ?`, by.Org, id)
	if err != nil {
		return nil, err
	}
	return w, s.db.loadMembers(ctx, w, by.User)
}

// Members implements ports.Workspaces.
func (s *Workspaces) Members(ctx context.Context, org identity.OrgID, id identity.WorkspaceID,
	q page.Query) (account.MemberPage, error) {
	var rows []memberRow
	err := s.db.List(ctx, &rows, `
		SELECT `+memberColumns+` FROM workspaces t JOIN memberships m ON m.workspace_id = t.id
		JOIN users u ON u.id = m.user_id
		WHERE t.org_id = ? AND t.id = ? AND m.user_id > ? ORDER BY m.user_id LIMIT ?`, org, id, q.After, q.Limit+1)
	if err != nil {
		return account.MemberPage{}, err
	}
	members := db.Convert(rows, (*memberRow).member)
	return page.Cut(members, q.Limit, func(m account.Member) string { return string(m.User) }), nil
}

// Member implements ports.Workspaces.
func (s *Workspaces) Member(ctx context.Context, org identity.OrgID, id identity.WorkspaceID,
	user identity.UserID) (account.Member, error) {
	var row memberRow
	found, err := s.db.Get(ctx, &row, `
		SELECT `+memberColumns+` FROM workspaces t JOIN memberships m ON m.workspace_id = t.id
		JOIN users u ON u.id = m.user_id
		WHERE t.org_id = ? AND t.id = ? AND m.user_id = ?`, org, id, user)
	if err == nil && !found {
		err = account.ErrMemberNotFound
	}
	if err != nil {
		return account.Member{}, err
	}
	return row.member(), nil
}

// Lock implements ports.Workspaces.
func (s *Workspaces) Lock(ctx context.Context, org identity.OrgID, id identity.WorkspaceID) error {
	var one int
	found, err := s.db.Get(ctx, &one, `SELECT 1 FROM workspaces t WHERE t.org_id = ? AND t.id = ?`+s.db.Dialect.Lock,
		org, id)
	if err == nil && !found {
		err = identity.ErrWorkspaceNotFound
	}
	return err
}

// Update implements ports.Workspaces.
func (s *Workspaces) Update(ctx context.Context, by identity.Actor, id identity.WorkspaceID, others []identity.UserID,
	change func(*account.Workspace) error) (*account.Workspace, error) {
	var w *account.Workspace
	err := s.db.inTx(ctx, func(tx *Store) (err error) {
		if w, err = tx.LockedWorkspace(ctx, by.Org, id, append(others, by.User)...); err != nil {
			return err
		}
		if err := tx.LoadPowers(ctx, w, others...); err != nil {
			return err
		}
		if err := tx.loadOwningPrograms(ctx, w); err != nil {
			return err
		}
		if err := change(w); err != nil {
			return err
		}
		return tx.SaveWorkspace(ctx, w)
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (store *Store) findWorkspace(ctx context.Context, condition string, args ...any) (*account.Workspace, error) {
	var row workspaceRow
	found, err := store.Get(ctx, &row, `SELECT `+workspaceColumns+` FROM workspaces t WHERE `+condition, args...)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, identity.ErrWorkspaceNotFound
	}
	w := row.workspace()
	w.Members = map[identity.UserID]account.Member{}
	return &w, nil
}

// lockedWorkspaceBySlug returns a workspace that is about to change, without members. It returns
// identity.ErrWorkspaceNotFound for a deleted workspace.
func (store *Store) lockedWorkspaceBySlug(
	ctx context.Context, org identity.OrgID, slug string,
) (*account.Workspace, error) {
	return store.findWorkspace(ctx, `t.org_id = ? AND t.slug = ? AND t.deleted_at = 0`+store.Dialect.Lock, org, slug)
}

// LockedWorkspace reads a workspace that is about to change, with the memberships of users.
func (store *Store) LockedWorkspace(ctx context.Context, org identity.OrgID, id identity.WorkspaceID,
	users ...identity.UserID) (*account.Workspace, error) {
	w, err := store.findWorkspace(ctx, `t.org_id = ? AND t.id = ?`+store.Dialect.Lock, org, id)
	if err != nil {
		return nil, err
	}
	return w, store.loadMembers(ctx, w, users...)
}

// addWorkspace writes a new workspace with its members.
func (store *Store) addWorkspace(ctx context.Context, w *account.Workspace) error {
	if err := store.mayMakeWorkspace(ctx, w); err != nil {
		return err
	}
	if err := store.slugIsFree(ctx, w); err != nil {
		return err
	}
	if _, err := store.Exec(ctx, `INSERT INTO workspaces (id, org_id, slug, name, created_by, revision, created_at,
		updated_at, deleted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)`,
		w.ID, w.Org, w.Slug, w.Name, w.CreatedBy, w.Revision, db.Micros(w.CreatedAt),
		db.Micros(w.UpdatedAt)); err != nil {
		return store.slugTaken(err)
	}
	if err := store.saveMembers(ctx, w, slices.Collect(maps.Values(w.Members))...); err != nil {
		return err
	}
	store.Forget()
	return store.Record(ctx, w.RecordedAt(w.Revision, string(w.ID)))
}

// mayMakeWorkspace returns account.ErrTooManyWorkspaces if w's creator has created account.MaxWorkspaces. Concurrent
// calls for one creator wait for each other.
func (store *Store) mayMakeWorkspace(ctx context.Context, w *account.Workspace) error {
	if w.CreatedBy == "" {
		return nil
	}
	var maker identity.UserID
	_, err := store.Get(ctx, &maker, `SELECT t.id FROM users t WHERE t.org_id = ? AND t.id = ?`+store.Dialect.Lock,
		w.Org, w.CreatedBy)
	if err != nil {
		return err
	}
	var count int
	_, err = store.Get(ctx, &count, `SELECT COUNT(*) FROM workspaces WHERE created_by = ? AND created_by <> ''`,
		w.CreatedBy)
	if err == nil && count >= account.MaxWorkspaces {
		err = account.ErrTooManyWorkspaces
	}
	return err
}

// SaveWorkspace writes a workspace that LockedWorkspace read, if it recorded an event, and the memberships that
// changed.
func (store *Store) SaveWorkspace(ctx context.Context, w *account.Workspace) error {
	if len(w.Recorded()) == 0 {
		return nil
	}
	if err := store.slugIsFree(ctx, w); err != nil {
		return err
	}
	if _, err := store.Exec(ctx, `UPDATE workspaces SET slug = ?, name = ?, revision = ?, updated_at = ?, deleted_at = ?
		WHERE org_id = ? AND id = ?`,
		w.Slug, w.Name, w.Revision, db.Micros(w.UpdatedAt), db.Micros(w.DeletedAt), w.Org, w.ID); err != nil {
		return store.slugTaken(err)
	}
	var changes []account.Member
	for _, m := range w.Members {
		if !store.IsMemberStored(w, m) {
			changes = append(changes, m)
		}
	}
	if err := store.saveMembers(ctx, w, changes...); err != nil {
		return err
	}
	if err := store.savePowers(ctx, slices.Collect(maps.Values(w.Powers))...); err != nil {
		return err
	}
	store.Forget()
	return store.Record(ctx, w.RecordedAt(w.Revision, string(w.ID)))
}

// slugIsFree detects a duplicate slug before the write. It cannot see a concurrent transaction: in that case slugTaken
// makes the transaction run again, since PostgreSQL has aborted it.
func (store *Store) slugIsFree(ctx context.Context, w *account.Workspace) error {
	var other string
	found, err := store.Get(ctx, &other, `SELECT id FROM workspaces WHERE org_id = ? AND slug = ? AND id <> ?`, w.Org,
		w.Slug, w.ID)
	if found {
		return account.ErrSlugTaken
	}
	return err
}

func (store *Store) slugTaken(err error) error {
	if store.Dialect.Duplicate(err, "workspaces_slug") {
		return db.ErrRaced
	}
	return err
}

// Maker returns the org of a workspace and the user who created it. The user is empty if that was the system, or an
// operator of the org, who creates workspaces for others. Both are empty if the workspace does not exist.
func (store *Store) Maker(ctx context.Context, ws identity.WorkspaceID) (identity.OrgID, identity.UserID, error) {
	var found struct {
		Org   identity.OrgID  `db:"org_id"`
		Maker identity.UserID `db:"maker"`
	}
	_, err := store.Get(ctx, &found, `
		SELECT w.org_id, COALESCE(u.id, '') AS maker FROM workspaces w
		LEFT JOIN users u ON u.id = w.created_by AND u.org_id = w.org_id AND NOT u.operator
		WHERE w.id = ?`, ws)
	return found.Org, found.Maker, err
}
