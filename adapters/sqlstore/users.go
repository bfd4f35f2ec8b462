package sqlstore

import (
	"context"
	"slices"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Users keeps users and their memberships.
type Users struct{ db *DB }

// Workspaces reads workspaces.
type Workspaces struct{ db *DB }

var (
	_ ports.Users      = (*Users)(nil)
	_ ports.Workspaces = (*Workspaces)(nil)
)

const userColumns = `t.id, t.org_id, t.email, t.name, t.operator, t.default_workspace_id, t.revision, t.created_at, t.updated_at`

type userRow struct {
	ID               identity.UserID      `db:"id"`
	Org              identity.OrgID       `db:"org_id"`
	Email            string               `db:"email"`
	Name             string               `db:"name"`
	Operator         bool                 `db:"operator"`
	DefaultWorkspace identity.WorkspaceID `db:"default_workspace_id"`
	Revision         int64                `db:"revision"`
	CreatedAt        int64                `db:"created_at"`
	UpdatedAt        int64                `db:"updated_at"`
}

func (r *userRow) user() account.User {
	return account.User{
		ID: r.ID, Org: r.Org, Email: r.Email, Name: r.Name, Operator: r.Operator, DefaultWorkspace: r.DefaultWorkspace,
		Revision: r.Revision, CreatedAt: moment(r.CreatedAt), UpdatedAt: moment(r.UpdatedAt),
	}
}

const workspaceColumns = `w.id, w.org_id, w.slug, w.name, w.revision, w.created_at, w.updated_at`

type workspaceRow struct {
	ID        identity.WorkspaceID `db:"id"`
	Org       identity.OrgID       `db:"org_id"`
	Slug      string               `db:"slug"`
	Name      string               `db:"name"`
	Revision  int64                `db:"revision"`
	CreatedAt int64                `db:"created_at"`
	UpdatedAt int64                `db:"updated_at"`
}

func (r *workspaceRow) workspace() account.Workspace {
	return account.Workspace{
		ID: r.ID, Org: r.Org, Slug: r.Slug, Name: r.Name, Revision: r.Revision, CreatedAt: moment(r.CreatedAt), UpdatedAt: moment(r.UpdatedAt),
	}
}

// Add implements ports.Users.
func (s *Users) Add(ctx context.Context, u *account.User, memberships []account.Membership) error {
	return s.db.inTx(ctx, func(tx *DB) error {
		key := account.EmailKey(u.Email)
		var other string
		if found, err := tx.get(ctx, &other, `SELECT id FROM users WHERE org_id = ? AND email_key = ? AND email_key <> ''`, u.Org, key); err != nil || found {
			if found {
				return account.ErrEmailTaken
			}
			return err
		}
		_, err := tx.exec(ctx, `
			INSERT INTO users (id, org_id, email, email_key, name, operator, default_workspace_id, revision, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			u.ID, u.Org, u.Email, key, u.Name, u.Operator, u.DefaultWorkspace, u.Revision, micros(u.CreatedAt), micros(u.UpdatedAt))
		if tx.dialect.duplicate(err, "users_email") {
			return account.ErrEmailTaken
		}
		if err != nil {
			return err
		}
		for _, m := range memberships {
			w := m.Workspace
			if _, err := tx.exec(ctx, `
				INSERT INTO workspaces (id, org_id, slug, name, revision, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (id) DO NOTHING`, w.ID, w.Org, w.Slug, w.Name, w.Revision, micros(w.CreatedAt), micros(w.UpdatedAt)); err != nil {
				return err
			}
			if _, err := tx.exec(ctx, `INSERT INTO memberships (workspace_id, user_id, role, created_at) VALUES (?, ?, ?, ?)`,
				w.ID, u.ID, m.Role, micros(u.CreatedAt)); err != nil {
				return err
			}
		}
		for _, m := range memberships {
			if err := tx.record(ctx, m.Workspace.Recorded()); err != nil {
				return err
			}
		}
		tx.afterCommit(tx.principals.forget)
		return tx.record(ctx, u.Recorded())
	})
}

// Get implements ports.Users.
func (s *Users) Get(ctx context.Context, org identity.OrgID, id identity.UserID) (*account.User, []account.Membership, error) {
	return s.db.user(ctx, `t.org_id = ? AND t.id = ?`, org, id)
}

// FindByEmail implements ports.Users.
func (s *Users) FindByEmail(ctx context.Context, org identity.OrgID, email string) (*account.User, []account.Membership, error) {
	return s.db.user(ctx, `t.org_id = ? AND t.email_key = ? AND t.email_key <> ''`, org, account.EmailKey(email))
}

// Member implements ports.Users.
func (s *Users) Member(ctx context.Context, ws identity.WorkspaceID, id identity.UserID, email string) (identity.UserID, error) {
	where, arg := `u.id = ?`, any(id)
	if id == "" {
		where, arg = `u.email_key = ? AND u.email_key <> ''`, account.EmailKey(email)
	}
	var found identity.UserID
	_, err := s.db.get(ctx, &found, `SELECT u.id FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.workspace_id = ? AND `+where, ws, arg)
	return found, err
}

// Update implements ports.Users.
func (s *Users) Update(ctx context.Context, org identity.OrgID, id identity.UserID, change func(*account.User, []account.Membership) error) (*account.User, error) {
	var u *account.User
	err := s.db.inTx(ctx, func(tx *DB) error {
		var memberships []account.Membership
		var err error
		if u, memberships, err = tx.user(ctx, `t.org_id = ? AND t.id = ?`+tx.dialect.lock, org, id); err != nil {
			return err
		}
		if err := change(u, memberships); err != nil || len(u.Recorded()) == 0 {
			return err
		}
		if _, err := tx.exec(ctx, `UPDATE users SET name = ?, default_workspace_id = ?, revision = ?, updated_at = ? WHERE org_id = ? AND id = ?`,
			u.Name, u.DefaultWorkspace, u.Revision, micros(u.UpdatedAt), org, id); err != nil {
			return err
		}
		tx.afterCommit(tx.principals.forget)
		return tx.record(ctx, u.Recorded())
	})
	if err != nil {
		return nil, err
	}
	return u, nil
}

func (db *DB) user(ctx context.Context, where string, args ...any) (*account.User, []account.Membership, error) {
	var row userRow
	found, err := db.get(ctx, &row, `SELECT `+userColumns+` FROM users t WHERE `+where, args...)
	if err != nil {
		return nil, nil, err
	}
	if !found {
		return nil, nil, account.ErrUserNotFound
	}
	var rows []struct {
		workspaceRow
		Role identity.Role `db:"role"`
	}
	if err := db.list(ctx, &rows, `
		SELECT `+workspaceColumns+`, m.role FROM memberships m JOIN workspaces w ON w.id = m.workspace_id
		WHERE m.user_id = ? AND w.org_id = ? ORDER BY w.id`, row.ID, row.Org); err != nil {
		return nil, nil, err
	}
	u := row.user()
	memberships := make([]account.Membership, len(rows))
	for i := range rows {
		memberships[i] = account.Membership{Workspace: rows[i].workspace(), Role: rows[i].Role}
	}
	return &u, memberships, nil
}

// Find implements ports.Workspaces.
func (s *Workspaces) Find(ctx context.Context, org identity.OrgID, idOrSlug string) (*account.Workspace, error) {
	column := `w.slug`
	if id.Valid(identity.WorkspacePrefix, idOrSlug) {
		column = `w.id`
	}
	var row workspaceRow
	found, err := s.db.get(ctx, &row, `SELECT `+workspaceColumns+` FROM workspaces w WHERE w.org_id = ? AND `+column+` = ?`, org, idOrSlug)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, identity.ErrWorkspaceNotFound
	}
	w := row.workspace()
	return &w, nil
}

// EnsureOrgs gives every configured org a lasting identifier, and answers them by slug.
func (db *DB) EnsureOrgs(ctx context.Context, slugs []string) (map[string]identity.OrgID, error) {
	ids := map[string]identity.OrgID{}
	return ids, db.inTx(ctx, func(tx *DB) error {
		for _, slug := range slugs {
			if _, err := tx.exec(ctx, `INSERT INTO orgs (id, slug) VALUES (?, ?) ON CONFLICT (slug) DO NOTHING`, id.New(identity.OrgPrefix), slug); err != nil {
				return err
			}
		}
		var rows []struct {
			ID   identity.OrgID `db:"id"`
			Slug string         `db:"slug"`
		}
		if err := tx.list(ctx, &rows, `SELECT id, slug FROM orgs`); err != nil {
			return err
		}
		for _, r := range rows {
			if slices.Contains(slugs, r.Slug) {
				ids[r.Slug] = r.ID
			}
		}
		return nil
	})
}
