package chats

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Area is what chat templates add to what concerns all areas.
var Area = db.Area{
	Name:      "chats",
	AddStores: addStores,
	Tables: []db.Table{
		{Name: "chat_templates", Key: "id", Of: "workspaces", Owner: "deleted_at = 0 AND workspace_id"},
		{Name: "chat_templates", Key: "id", Of: "workspaces", Owner: "deleted_at > 0 AND workspace_id"},
		{Name: "chat_members", Key: "template_id, user_id", Of: "chat_templates", Owner: "template_id"},
		{Name: "chat_versions", Key: "id", Of: "chat_templates", Owner: "template_id"},
		{Name: "chat_publications", Key: "template_id, number", Of: "chat_templates", Owner: "template_id"},
	},
	Expiries: []db.Expiry{
		{Table: "chat_templates", Key: "id", Condition: "deleted_at > 0 AND deleted_at < ?",
			Kept: access.RestoreWithin + db.RestoreMargin},
		{Table: "chat_members", Key: "template_id, user_id", Condition: ofOldInvitation, Kept: db.InvitationsKept},
	},
	Exports: []db.Section{
		{Name: "chat_memberships", Users: 1,
			Query: `SELECT m.template_id, m.workspace_id, m.email, m.role, m.invited_by, m.created_at
				FROM chat_members m JOIN workspaces w ON w.id = m.workspace_id WHERE w.org_id = ? AND m.user_id = ?
				ORDER BY m.created_at DESC`},
		{Name: "chat_templates", Users: 2,
			Query: `SELECT t.id, t.workspace_id, t.name, t.created_at, t.deleted_at FROM chat_templates t
				JOIN workspaces w ON w.id = t.workspace_id WHERE w.org_id = ? AND (t.owner_id = ? OR t.created_by = ?)
				ORDER BY t.id DESC`},
	},
	Erasures: []db.Erasure{
		{Query: `DELETE FROM chat_members WHERE workspace_id IN (SELECT id FROM workspaces WHERE org_id = ?)
			AND user_id = ?`, Args: (*db.ErasedPerson).ByUser, Count: db.Shares},
		{Query: `DELETE FROM chat_members WHERE invited AND (workspace_id, user_id) IN (SELECT workspace_id,
			'usr_' || substr(id, 5) FROM invitations WHERE org_id = ? AND email_key = ?)`,
			Args: (*db.ErasedPerson).ByEmail, Count: db.Shares},
	},
}

// ofOldInvitation matches chat members who stand for an expired invitation. Their user ids are reserved for the invited
// person (account.InvitationID.Reserved).
const ofOldInvitation = "invited AND (workspace_id, user_id) IN " +
	"(SELECT workspace_id, 'usr_' || substr(id, 5) FROM invitations WHERE expires_at < ?)"

func addStores(s *ports.Stores, d *db.DB) {
	store := NewStore(d)
	s.ChatStores = ports.ChatStores{Chats: &Chats{store}, ChatLists: &Lists{store}, ChatVersions: &Versions{store}}
}

// ReadTemplate returns a chat template as a caller sees it, with its published version.
func ReadTemplate(ctx context.Context, d *db.DB, by identity.Actor, id chat.ID) (*chat.Template, error) {
	return NewStore(d).template(ctx, by, id)
}

// LockedTemplate is ReadTemplate, and locks the template until the end of the transaction.
func LockedTemplate(ctx context.Context, d *db.DB, by identity.Actor, id chat.ID) (*chat.Template, error) {
	return NewStore(d).lockedTemplate(ctx, by, id)
}
