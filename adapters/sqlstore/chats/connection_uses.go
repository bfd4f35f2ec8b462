package chats

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/webhook"
)

const maxConnectionUses = 1000

// ConnectionUses implements ports.ChatLists.
func (l *Lists) ConnectionUses(ctx context.Context, by identity.Actor, id connection.ID) ([]chat.ConnectionUse, error) {
	if by.Role == identity.NoRole || by.Ceiling == identity.NoRole {
		return nil, nil
	}
	expression := l.db.Dialect.ReplyConnection
	drafts := db.NewConditions(`workspace_id = ? AND reply <> ''`, by.Workspace)
	drafts.When(id != "", expression+` = ?`, id)
	versions := db.NewConditions(`workspace_id = ? AND reply <> ''`, by.Workspace)
	versions.When(id != "", expression+` = ?`, id)
	visible := db.NewConditions(`t.deleted_at = 0 AND (c.version_id = '' OR c.version_id = t.published_version_id)`)
	SeenBy(visible, by)
	var rows []struct {
		Connection connection.ID `db:"connection_id"`
		ID         chat.ID       `db:"id"`
		Name       string        `db:"name"`
	}
	args := append(drafts.Args(), versions.Args(visible.Args(maxConnectionUses)...)...)
	err := l.db.List(ctx, &rows, `SELECT DISTINCT c.connection_id, t.id, t.name FROM (
			SELECT id AS template_id, '' AS version_id, `+expression+` AS connection_id FROM chat_templates
			WHERE `+drafts.SQL()+`
			UNION ALL SELECT template_id, id AS version_id, `+expression+` AS connection_id FROM chat_versions
			WHERE `+versions.SQL()+`) c JOIN chat_templates t ON t.id = c.template_id
		WHERE `+visible.SQL()+` ORDER BY c.connection_id DESC, t.id DESC LIMIT ?`, args...)
	found := make([]chat.ConnectionUse, len(rows))
	for i, r := range rows {
		found[i] = chat.ConnectionUse(r)
	}
	return found, err
}

// Forwarding implements ports.ChatLists.
func (l *Lists) Forwarding(ctx context.Context, ws identity.WorkspaceID, id webhook.ID) (found []chat.ID, err error) {
	err = l.db.List(ctx, &found, `SELECT id FROM chat_templates WHERE workspace_id = ? AND transcripts = ?
		ORDER BY id`, ws, id)
	return found, err
}
