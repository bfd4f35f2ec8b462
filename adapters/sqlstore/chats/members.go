package chats

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
)

const memberColumns = `c.user_id, CASE WHEN c.invited THEN c.email ELSE COALESCE(u.email, '') END AS email,
	COALESCE(u.name, '') AS name, c.role, c.invited, c.invited_by, c.revision, c.created_at, c.updated_at`

// allMembers selects the members of a template in a workspace, including its owner.
const allMembers = `SELECT ` + memberColumns + ` FROM (
	SELECT user_id, email, role, invited, invited_by, revision, created_at, updated_at
	FROM chat_members WHERE template_id = ? AND workspace_id = ?
	UNION ALL
	SELECT owner_id, '', CAST(? AS INTEGER), FALSE, '', revision, created_at, updated_at
	FROM chat_templates WHERE id = ? AND workspace_id = ?
) c LEFT JOIN users u ON u.id = c.user_id `

type memberRow struct {
	User      identity.UserID `db:"user_id"`
	Email     string          `db:"email"`
	Name      string          `db:"name"`
	Role      access.Role     `db:"role"`
	Invited   bool            `db:"invited"`
	InvitedBy identity.UserID `db:"invited_by"`
	Revision  int64           `db:"revision"`
	CreatedAt int64           `db:"created_at"`
	UpdatedAt int64           `db:"updated_at"`
}

func (r *memberRow) member() chat.Member {
	return chat.Member{
		User: r.User, Email: r.Email, Name: r.Name, Role: r.Role, Invited: r.Invited, InvitedBy: r.InvitedBy,
		Revision: r.Revision, CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
	}
}

// saveMember writes a member, or removes a member without a role. An account's address is stored with the account: only
// an invited person's address is stored here.
func (store *Store) saveMember(ctx context.Context, t *chat.Template, m chat.Member) error {
	if m.Role == access.None {
		_, err := store.Exec(ctx, `DELETE FROM chat_members WHERE template_id = ? AND user_id = ?`, t.ID, m.User)
		return err
	}
	email := ""
	if m.Invited {
		email = m.Email
	}
	_, err := store.Exec(ctx, `
		INSERT INTO chat_members (template_id, workspace_id, user_id, email, role, invited, invited_by, revision,
		created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (template_id, user_id) DO UPDATE SET role = excluded.role, invited_by = excluded.invited_by,
			revision = excluded.revision, updated_at = excluded.updated_at`,
		t.ID, t.Workspace, m.User, email, m.Role, m.Invited, m.InvitedBy, m.Revision, db.Micros(m.CreatedAt),
		db.Micros(m.UpdatedAt))
	return err
}
