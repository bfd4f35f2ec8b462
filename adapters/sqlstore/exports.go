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
	p, err := s.db.Accounts().Person(ctx, org, id)
	if err == nil && p.User.Service {
		err = account.ErrUserNotFound
	}
	if err != nil {
		return err
	}
	for _, area := range s.areas {
		for _, section := range area.Exports {
			if err := s.exportSection(ctx, org, id, section, emit); err != nil {
				return err
			}
		}
	}
	return s.exportEvents(ctx, org, id, emit)
}

func (s *Erasures) exportSection(ctx context.Context, org identity.OrgID, id identity.UserID, section db.Section,
	emit func(account.ExportSection) error) error {
	args := []any{org}
	for range section.Users {
		args = append(args, id)
	}
	rows, hasMore, err := s.db.exportRows(ctx, account.MaxExported, section.Query+` LIMIT ?`, args...)
	if err != nil {
		return err
	}
	return emit(account.ExportSection{Name: section.Name, Rows: rows, Truncated: hasMore})
}

// exportEvents emits one section for each workspace in which there are events of a person.
func (s *Erasures) exportEvents(
	ctx context.Context, org identity.OrgID, id identity.UserID, emit func(account.ExportSection) error,
) error {
	var spaces []identity.WorkspaceID
	if err := s.db.List(ctx, &spaces, `SELECT id FROM workspaces WHERE org_id = ? ORDER BY id`, org); err != nil {
		return err
	}
	rest := account.MaxExported
	for _, ws := range append([]identity.WorkspaceID{""}, spaces...) {
		rows, isTruncated, err := s.db.exportRows(ctx, rest, exportedEvents, org, ws, id, org, ws, id)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			continue
		}
		if err := emit(account.ExportSection{Name: "events", Rows: rows, Truncated: isTruncated ||
			len(rows) == rest}); err != nil {
			return err
		}
		if rest -= len(rows); rest <= 0 {
			return nil
		}
	}
	return nil
}

// exportRows reads at most limit rows of any shape, and whether there are more.
func (store *Store) exportRows(
	ctx context.Context, limit int, query string, args ...any,
) (found []map[string]any, isTruncated bool, err error) {
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
