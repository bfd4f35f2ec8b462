package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// SetIncludes implements ports.Prompts.
func (p *Prompts) SetIncludes(ctx context.Context, by identity.Actor, v *prompt.Version) error {
	includes, err := db.JSONText(v.Includes, len(v.Includes) == 0)
	if err != nil {
		return err
	}
	text, err := pinnedText(v.Pinned)
	if err != nil {
		return err
	}
	if _, err := p.db.Exec(ctx, `DELETE FROM prompt_includes WHERE version_id = ?`, v.ID); err != nil {
		return err // not joined with the rows that replace them
	}
	writes := []db.Write{
		{Query: `UPDATE prompt_versions SET includes = ?, pinned = ? WHERE id = ? AND template_id =
			(SELECT t.id FROM prompt_templates t WHERE t.id = ? AND t.workspace_id = ?)`,
			Args: []any{includes, text, v.ID, v.Template, by.Workspace}},
	}
	for _, i := range v.Includes {
		writes = append(writes, db.Write{Query: `INSERT INTO prompt_includes (version_id, template_id, target_id, ref)
			VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`, Args: []any{v.ID, v.Template, i.Template, i.Ref}})
		if v.Frozen {
			writes = append(writes, db.ReferenceWrite(by.Workspace,
				prompt.Reference{Holder: string(v.Template), Template: i.Template, Ref: i.Ref}))
		}
	}
	return p.db.Run(ctx, writes...)
}

// Includers implements ports.PromptLists.
func (l *Lists) Includers(ctx context.Context, by identity.Actor, id prompt.ID, refs []string, isSeen bool,
	limit int) ([]prompt.Use, error) {
	conditions := db.NewConditions(`t.workspace_id = ? AND t.deleted_at = 0`, by.Workspace)
	condition, args := `i.target_id = ?`, []any{id}
	if len(refs) > 0 {
		condition += ` AND i.ref IN (` + db.Placeholders(db.MaxRefs) + `)`
		args = append(args, db.RefArgs(refs)...)
	}
	conditions.When(true, `t.id IN (SELECT i.template_id FROM prompt_includes i
		JOIN prompt_templates o ON o.id = i.template_id
		WHERE `+condition+` AND (i.version_id = o.active_version_id OR EXISTS (SELECT 1 FROM prompt_labels p
		WHERE p.version_id = i.version_id)))`, args...)
	if isSeen {
		if by.Role == identity.NoRole || by.Ceiling == identity.NoRole {
			return nil, nil
		}
		SeenBy(conditions, by)
	}
	var rows []struct {
		ID        string          `db:"id"`
		Name      string          `db:"name"`
		Owner     identity.UserID `db:"owner_id"`
		OwnerName string          `db:"owner_name"`
	}
	err := l.db.List(ctx, &rows, `SELECT t.id, t.name, t.owner_id, COALESCE(u.name, '') AS owner_name
		FROM prompt_templates t LEFT JOIN users u ON u.id = t.owner_id WHERE `+conditions.SQL()+` ORDER BY t.id LIMIT ?`,
		conditions.Args(limit)...)
	uses := make([]prompt.Use, len(rows))
	for i, row := range rows {
		uses[i] = prompt.Use(row)
	}
	return uses, err
}
