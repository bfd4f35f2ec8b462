package sqlstore

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// exported lists what an export of a person has, section by section. The arguments of each query are the org, and
// the user as often as users says. It reads the newest rows first.
var exported = []struct {
	section, query string
	users          int // how often the user is an argument after the org
}{
	{"account", `SELECT id, email, email_verified, email_verified_by, name, operator, disabled_at, erased_at,
		default_workspace_id, created_at, updated_at FROM users WHERE org_id = ? AND id = ?`, 1},
	{"sign_ins", `SELECT issuer, subject, issued_at, created_at FROM sign_ins WHERE org_id = ? AND user_id = ?
		ORDER BY created_at DESC`, 1},
	{"memberships", `SELECT m.workspace_id, w.slug, w.name, m.role, m.created_at, m.updated_at FROM memberships m
		JOIN workspaces w ON w.id = m.workspace_id WHERE w.org_id = ? AND m.user_id = ?
		ORDER BY m.workspace_id DESC`, 1},
	{"groups", `SELECT g.id, g.workspace_id, g.name, p.created_at FROM group_people p
		JOIN user_groups g ON g.id = p.group_id WHERE g.org_id = ? AND p.user_id = ? ORDER BY g.id DESC`, 1},
	{"invitations", `SELECT i.id, i.workspace_id, i.email, i.role, i.invited_by, i.created_at, i.expires_at
		FROM invitations i JOIN users u ON u.org_id = i.org_id AND u.email_key = i.email_key AND u.email_key <> ''
		WHERE i.org_id = ? AND u.id = ? ORDER BY i.id DESC`, 1},
	{"sessions", `SELECT id, source, agent, address, created_at, last_seen_at, expires_at, ended_at FROM sessions
		WHERE org_id = ? AND user_id = ? ORDER BY id DESC`, 1},
	{"api_keys", `SELECT id, workspace_id, service, name, hint, created_at, last_used_at, last_used_by, expires_at,
		revoked_at
		FROM api_keys WHERE org_id = ? AND (user_id = ? OR created_by = ? OR kept_by = ?) ORDER BY id DESC`, 3},
	{"passkeys", `SELECT id, host, name, created_at, last_used_at FROM passkeys WHERE org_id = ? AND user_id = ?
		ORDER BY id DESC`, 1},
	{"presence", `SELECT id, lasting_status, lasting_text, passing_status, passing_text, passing_until, devices,
		active_at, seen_at FROM presences WHERE org_id = ? AND user_id = ?`, 1},
	{"prompt_shares", `SELECT s.template_id, s.workspace_id, s.access, s.granted_by, s.created_at, s.expires_at
		FROM prompt_shares s JOIN workspaces w ON w.id = s.workspace_id WHERE w.org_id = ? AND s.user_id = ?
		ORDER BY s.created_at DESC`, 1},
	{"prompt_folder_shares", `SELECT s.folder, s.workspace_id, s.access, s.granted_by, s.created_at, s.expires_at
		FROM prompt_folder_shares s JOIN workspaces w ON w.id = s.workspace_id WHERE w.org_id = ? AND s.user_id = ?
		ORDER BY s.created_at DESC`, 1},
	{"chat_memberships", `SELECT m.template_id, m.workspace_id, m.email, m.role, m.invited_by, m.created_at
		FROM chat_members m JOIN workspaces w ON w.id = m.workspace_id WHERE w.org_id = ? AND m.user_id = ?
		ORDER BY m.created_at DESC`, 1},
	{"prompt_templates", `SELECT t.id, t.workspace_id, t.name, t.created_at, t.deleted_at FROM prompt_templates t
		JOIN workspaces w ON w.id = t.workspace_id WHERE w.org_id = ? AND (t.owner_id = ? OR t.created_by = ?)
		ORDER BY t.id DESC`, 2},
	{"chat_templates", `SELECT t.id, t.workspace_id, t.name, t.created_at, t.deleted_at FROM chat_templates t
		JOIN workspaces w ON w.id = t.workspace_id WHERE w.org_id = ? AND (t.owner_id = ? OR t.created_by = ?)
		ORDER BY t.id DESC`, 2},
	{"connections", `SELECT id, workspace_id, kind, name, created_at, revoked_at FROM connections
		WHERE org_id = ? AND created_by = ? ORDER BY id DESC`, 1},
	{"sources", `SELECT s.id, s.workspace_id, s.type, s.name, s.created_at FROM sources s
		JOIN workspaces w ON w.id = s.workspace_id WHERE w.org_id = ? AND s.owner_id = ? ORDER BY s.id DESC`, 1},
}

// exportedEvents reads the events that a person caused, or that are about the person, in one workspace.
const exportedEvents = `SELECT id, workspace_id, type, actor_id, subject, data, key_id, session_id, request_id, address,
	created_at FROM recorded_events WHERE org_id = ? AND workspace_id = ? AND actor_id = ?
	UNION SELECT id, workspace_id, type, actor_id, subject, data, key_id, session_id, request_id, address,
	created_at FROM recorded_events WHERE org_id = ? AND workspace_id = ? AND subject = ?
	ORDER BY id DESC LIMIT ?`

// Export implements ports.Erasures.
func (s *Erasures) Export(
	ctx context.Context, org identity.OrgID, id identity.UserID, emit func(account.ExportSection) error,
) error {
	if _, _, err := s.db.user(ctx, `t.org_id = ? AND t.id = ? AND NOT t.service`, org, id); err != nil {
		return err
	}
	for _, one := range exported {
		args := []any{org}
		for range one.users {
			args = append(args, id)
		}
		rows, more, err := s.db.exportRows(ctx, account.MaxExported, one.query+` LIMIT ?`, args...)
		if err != nil {
			return err
		}
		if err := emit(account.ExportSection{Name: one.section, Rows: rows, Truncated: more}); err != nil {
			return err
		}
	}
	return s.exportEvents(ctx, org, id, emit)
}

// exportEvents emits one section for each workspace in which there are events of a person.
func (s *Erasures) exportEvents(
	ctx context.Context, org identity.OrgID, id identity.UserID, emit func(account.ExportSection) error,
) error {
	var spaces []identity.WorkspaceID
	if err := s.db.List(ctx, &spaces, `SELECT id FROM workspaces WHERE org_id = ? ORDER BY id`, org); err != nil {
		return err
	}
	left := account.MaxExported
	for _, ws := range append([]identity.WorkspaceID{""}, spaces...) {
		rows, more, err := s.db.exportRows(ctx, left, exportedEvents, org, ws, id, org, ws, id)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			continue
		}
		if err := emit(account.ExportSection{Name: "events", Rows: rows, Truncated: more ||
			len(rows) == left}); err != nil {
			return err
		}
		if left -= len(rows); left <= 0 {
			return nil
		}
	}
	return nil
}

// exportRows reads at most limit rows of any shape, and whether there are more.
func (store *DB) exportRows(
	ctx context.Context, limit int, query string, args ...any,
) (found []map[string]any, more bool, err error) {
	rows, err := store.Rows(ctx, query, append(args, limit+1)...)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if len(found) == limit {
			return found, true, nil
		}
		row := map[string]any{}
		if err := rows.MapScan(row); err != nil {
			return nil, false, err
		}
		for column, v := range row {
			row[column] = exportValue(column, v)
		}
		found = append(found, row)
	}
	return found, false, store.WrapErr(ctx, rows.Err())
}

// exportValue returns a column as an export shows it.
func exportValue(column string, v any) any {
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	switch t := v.(type) {
	case int64:
		if strings.HasSuffix(column, "_at") || strings.HasSuffix(column, "_until") {
			if t == 0 {
				return nil
			}
			return db.FromMicros(t).Format(time.RFC3339)
		}
		if column == "email_verified" || column == "operator" || column == "service" { // SQLite has numbers
			return t != 0
		}
		if column == "role" {
			return identity.Role(t).String()
		}
	case string:
		if (column == "data" || column == "devices") && json.Valid([]byte(t)) {
			return json.RawMessage(t)
		}
	}
	return v
}
