package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

const (
	shareColumns = `s.user_id, COALESCE(g.name, u.name, '') AS name, COALESCE(u.email, '') AS email, s.access,
		s.expires_at, s.granted_by, s.revision, s.created_at, s.updated_at`
	shareTables = ` FROM prompt_shares s LEFT JOIN users u ON u.id = s.user_id
		LEFT JOIN user_groups g ON g.id = s.user_id`
)

type shareRow struct {
	User      identity.UserID `db:"user_id"`
	Name      string          `db:"name"`
	Email     string          `db:"email"`
	Access    access.Role     `db:"access"`
	ExpiresAt int64           `db:"expires_at"`
	GrantedBy identity.UserID `db:"granted_by"`
	Revision  int64           `db:"revision"`
	CreatedAt int64           `db:"created_at"`
	UpdatedAt int64           `db:"updated_at"`
}

func (r *shareRow) share() prompt.Share {
	return prompt.Share{
		User: r.User, Name: r.Name, Email: r.Email, Role: r.Access, ExpiresAt: db.FromMicros(r.ExpiresAt),
		GrantedBy: r.GrantedBy, Revision: r.Revision,
		CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
	}
}

// saveShare writes a share, or removes one that gives no access.
func (store *Store) saveShare(ctx context.Context, t *prompt.Template, s prompt.Share) error {
	if s.Role == access.None {
		_, err := store.Exec(ctx, `DELETE FROM prompt_shares WHERE template_id = ? AND user_id = ?`, t.ID, s.User)
		return err
	}
	_, err := store.Exec(ctx, `
		INSERT INTO prompt_shares (template_id, workspace_id, user_id, access, expires_at, granted_by, revision,
		created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (template_id, user_id) DO UPDATE SET access = excluded.access, expires_at = excluded.expires_at,
			granted_by = excluded.granted_by, revision = excluded.revision, created_at = excluded.created_at, updated_at
			= excluded.updated_at`,
		t.ID, t.Workspace, s.User, s.Role, db.Micros(s.ExpiresAt), s.GrantedBy, s.Revision, db.Micros(s.CreatedAt),
		db.Micros(s.UpdatedAt))
	return err
}
