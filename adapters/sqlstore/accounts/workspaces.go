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

const workspaceColumns = `t.id, t.org_id, t.slug, t.name, t.created_by, t.revision, t.created_at, t.updated_at,
	t.deleted_at`

type workspaceRow struct {
	ID        identity.WorkspaceID `db:"id"`
	Org       identity.OrgID       `db:"org_id"`
	Slug      string               `db:"slug"`
	Name      string               `db:"name"`
	CreatedBy identity.UserID      `db:"created_by"`
	Revision  int64                `db:"revision"`
	CreatedAt int64                `db:"created_at"`
	UpdatedAt int64                `db:"updated_at"`
	DeletedAt int64                `db:"deleted_at"`
}

func (r *workspaceRow) workspace() account.Workspace {
	return account.Workspace{
		ID: r.ID, Org: r.Org, Slug: r.Slug, Name: r.Name, CreatedBy: r.CreatedBy, Revision: r.Revision,
		CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
		DeletedAt: db.FromMicros(r.DeletedAt),
	}
}

const memberColumns = `m.user_id, u.email, u.name, u.service, m.role, m.by_hand, m.granted, m.revision, m.created_at,
	m.updated_at`

type memberRow struct {
	User      identity.UserID `db:"user_id"`
	Email     string          `db:"email"`
	Name      string          `db:"name"`
	Service   bool            `db:"service"`
	Role      identity.Role   `db:"role"`
	ByHand    identity.Role   `db:"by_hand"`
	Granted   db.Granted      `db:"granted"`
	Revision  int64           `db:"revision"`
	CreatedAt int64           `db:"created_at"`
	UpdatedAt int64           `db:"updated_at"`
}

func (r *memberRow) member() account.Member {
	return account.Member{
		User: r.User, Email: r.Email, Name: r.Name, Service: r.Service, Role: r.Role, ByHand: r.ByHand,
		Granted: account.Granted(r.Granted), Revision: r.Revision,
		CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
	}
}

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
	all := make([]account.Workspace, len(rows))
	for i := range rows {
		all[i] = rows[i].workspace()
	}
	return page.Cut(all, q.Limit, func(w account.Workspace) string { return w.Slug }), nil
}

// Find implements ports.Workspaces.
func (s *Workspaces) Find(ctx context.Context, org identity.OrgID, idOrSlug string) (*account.Workspace, error) {
	column := `t.slug`
	if id.Valid(identity.WorkspacePrefix, idOrSlug) {
		column = `t.id`
	}
	return s.db.workspace(ctx, `t.org_id = ? AND `+column+` = ?`, org, idOrSlug)
}

// Get implements ports.Workspaces.
func (s *Workspaces) Get(ctx context.Context, by identity.Actor, id identity.WorkspaceID) (*account.Workspace, error) {
	w, err := s.db.workspace(ctx, `t.org_id = ? AND t.id = ?`, by.Org, id)
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
	members := make([]account.Member, len(rows))
	for i := range rows {
		members[i] = rows[i].member()
	}
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

func (store *Store) workspace(ctx context.Context, condition string, args ...any) (*account.Workspace, error) {
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

// LockedWorkspace reads a workspace that is about to change, with the memberships of users.
func (store *Store) LockedWorkspace(ctx context.Context, org identity.OrgID, id identity.WorkspaceID,
	users ...identity.UserID) (*account.Workspace, error) {
	w, err := store.workspace(ctx, `t.org_id = ? AND t.id = ?`+store.Dialect.Lock, org, id)
	if err != nil {
		return nil, err
	}
	return w, store.loadMembers(ctx, w, users...)
}

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
	for _, m := range w.Members {
		if err := store.saveMember(ctx, w, m); err != nil {
			return err
		}
	}
	store.Forget()
	return store.Record(ctx, w.RecordedAt(w.Revision, string(w.ID)))
}

// mayMakeWorkspace counts the workspaces of w's creator. Concurrent calls of one creator wait for each other.
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

// SaveWorkspace writes a workspace that LockedWorkspace read, if it recorded anything, and the memberships that
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
	for _, m := range w.Members {
		if store.IsMemberStored(w, m) {
			continue
		}
		if err := store.saveMember(ctx, w, m); err != nil {
			return err
		}
	}
	if err := store.savePowers(ctx, slices.Collect(maps.Values(w.Powers))...); err != nil {
		return err
	}
	store.Forget()
	return store.Record(ctx, w.RecordedAt(w.Revision, string(w.ID)))
}

// saveMember writes one membership. If the membership ends, the shares that depend on it are removed.
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
	for _, query := range []string{
		`DELETE FROM memberships WHERE workspace_id = ? AND user_id = ?`,
		`DELETE FROM prompt_shares WHERE workspace_id = ? AND user_id = ?`,
		`DELETE FROM prompt_folder_shares WHERE workspace_id = ? AND user_id = ?`,
		`DELETE FROM chat_members WHERE workspace_id = ? AND user_id = ?`,
	} {
		if _, err := store.Exec(ctx, query, w.ID, m.User); err != nil {
			return err
		}
	}
	return nil
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
