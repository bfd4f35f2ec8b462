package sqlstore

import (
	"context"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// Visible implements ports.PromptLists. Each reason to see a template is a branch of its own, on an index that begins
// with what the reason is about: a member who may see thirty of a hundred thousand templates reads about thirty rows.
// No index serves the filters and shares of folders: the number of rows that they filter out is bounded in each branch.
func (l *PromptLists) Visible(
	ctx context.Context, by identity.Actor, f prompt.Filter, q page.Query,
) (prompt.Page, error) {
	if by.Role == identity.NoRole || by.Ceiling == identity.NoRole {
		return prompt.Page{}, nil
	}
	if f.ByName && !f.Deleted {
		return l.byName(ctx, by, f, q)
	}
	inFolders := false
	var err error
	if by.Role < identity.Admin && !f.Deleted {
		if inFolders, err = l.db.hasFolders(ctx, by); err != nil {
			return prompt.Page{}, err
		}
	}
	floor, err := l.floor(ctx, by, f, q, inFolders)
	if err != nil {
		return prompt.Page{}, err
	}
	where := chosen(by, f)
	where.bounded(`t.id`, q.After, floor)
	filtered(where, f)

	begin, args := templatesFor(by, templateColumns)
	visible := where.sql()
	if by.Role >= identity.Admin || f.Deleted { // chosen selects those that by can restore
		args = append(args, where.args(q.Limit+1)...)
	} else {
		shares := newConditions(`s.workspace_id = ? AND s.user_id = ?`, by.Workspace, by.User)
		shares.bounded(`s.template_id`, q.After, floor)
		visible = `t.id IN (
			SELECT id FROM (SELECT t.id FROM prompt_templates t WHERE t.owner_id = ?
			AND ` + where.sql() + ` ORDER BY t.id DESC LIMIT ?) a
			UNION
			SELECT id FROM (SELECT t.id FROM prompt_templates t WHERE t.visibility = 'workspace'
			AND ` + where.sql() + ` ORDER BY t.id DESC LIMIT ?) b
			UNION
			SELECT id FROM (SELECT t.id FROM prompt_shares s JOIN prompt_templates t ON t.id = s.template_id
				WHERE ` + shares.sql() + ` AND (s.expires_at = 0 OR s.expires_at > ?) AND ` + where.sql() + ` ORDER BY s.template_id DESC LIMIT ?) c`
		args = append(args, by.User)
		args = append(args, where.args(q.Limit+1)...)
		args = append(args, where.args(q.Limit+1)...)
		args = append(args, shares.args(micros(by.At))...)
		args = append(args, where.args(q.Limit+1)...)
		if by.Grouped {
			shares = sharesOfGroups(by)
			shares.bounded(`s.template_id`, q.After, floor)
			visible += `
			UNION
			SELECT id FROM (SELECT DISTINCT t.id FROM ` + groupShares + ` JOIN prompt_templates t ON t.id = s.template_id
				WHERE ` + shares.sql() + ` AND (s.expires_at = 0 OR s.expires_at > ?) AND ` + where.sql() + ` ORDER BY t.id DESC LIMIT ?) d`
			args = append(args, shares.args(micros(by.At))...)
			args = append(args, where.args(q.Limit+1)...)
		}
		if inFolders {
			visible += `
			UNION
			SELECT id FROM (SELECT t.id FROM prompt_templates t
				WHERE ` + where.sql() + ` AND ` + isInFolder + ` ORDER BY t.id DESC LIMIT ?) e`
			args = append(append(args, where.args(folderArgs(by)...)...), q.Limit+1)
		}
		visible += `)`
		args = append(args, q.Limit+1)
	}
	rows, err := packedTemplates(by).list(ctx, l.db, `id DESC`, begin+` WHERE `+visible+` ORDER BY t.id DESC LIMIT ?`,
		args...)
	if err != nil {
		return prompt.Page{}, err
	}
	found, err := templatesOf(by, rows)
	if err != nil {
		return prompt.Page{}, err
	}
	return endingAt(page.Cut(found, q.Limit, func(t prompt.Template) string { return string(t.ID) }), floor), nil
}

// The packings of a page of templates, for a caller without groups and for others.
var (
	ownTemplates     = newPackedList[templateRow]("group_access", "best_folder")
	groupedTemplates = newPackedList[templateRow]()
)

func packedTemplates(by identity.Actor) *packedList[templateRow] {
	if by.Grouped {
		return groupedTemplates
	}
	return ownTemplates
}

func templatesOf(by identity.Actor, rows []templateRow) ([]prompt.Template, error) {
	found := make([]prompt.Template, len(rows))
	for i := range rows {
		if err := rows[i].fill(&found[i], by); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// chosen selects the live templates of by's workspace, or the deleted ones that by can restore.
func chosen(by identity.Actor, f prompt.Filter) *conditions {
	if !f.Deleted {
		return newConditions(`t.workspace_id = ? AND t.deleted_at = 0`, by.Workspace)
	}
	where := newConditions(`t.workspace_id = ? AND t.deleted_at <> 0 AND t.deleted_at >= ?`, by.Workspace,
		micros(by.At.Add(-access.RestoreWithin)))
	where.when(by.ReadOnly(), `FALSE`)
	where.when(by.Role < identity.Admin, `t.owner_id = ?`, by.User)
	return where
}

// filtered adds the conditions of a filter.
func filtered(where *conditions, f prompt.Filter) {
	if f.Query != "" {
		part := "%" + likeEscape(prompt.NameKey(f.Query)) + "%"
		// Everyone who sees the template sees a frozen version.
		where.when(true, `(t.search LIKE ? ESCAPE '\' OR EXISTS (SELECT 1 FROM prompt_versions v WHERE v.id = CASE
			WHEN t.active_version_id <> '' THEN t.active_version_id ELSE t.latest_frozen_id END
			AND v.search LIKE ? ESCAPE '\'))`, part, part)
	}
	where.when(f.Tag != "", `REPLACE(t.tags, ?, '') <> t.tags`, tagItem(f.Tag)) // LIKE ignores case on SQLite
	where.when(f.Folder != "", `t.name_key LIKE ? ESCAPE '\'`, likeEscape(prompt.NameKey(f.Folder))+"/%")
	where.when(f.Label != "", `EXISTS (SELECT 1 FROM prompt_labels l WHERE l.template_id = t.id AND l.label = ?)`,
		f.Label)
	where.when(f.Owner != "", `t.owner_id = ?`, f.Owner)
	if f.UnusedSince != 0 {
		where.when(true, `t.created_at < ? AND NOT EXISTS (SELECT 1 FROM version_reads r WHERE r.template_id = t.id
			AND r.day >= ?)`, micros(f.UnusedSince.Begin()), f.UnusedSince)
	}
	if f.Active != nil {
		where.when(true, `(t.active_version_id <> '') = ?`, *f.Active)
	}
}

// seenBy adds the condition that by sees a template, for a statement that reads templates in another order than that
// of their ids.
func seenBy(where *conditions, by identity.Actor) {
	if by.Role >= identity.Admin {
		return
	}
	seen, args := `t.owner_id = ? OR t.visibility = 'workspace' OR EXISTS (SELECT 1 FROM prompt_shares s
		WHERE s.template_id = t.id AND s.user_id = ? AND (s.expires_at = 0 OR s.expires_at > ?))`,
		[]any{by.User, by.User, micros(by.At)}
	if by.Grouped {
		seen += ` OR EXISTS (SELECT 1 FROM ` + groupShares + ` WHERE s.template_id = t.id
			AND p.workspace_id = t.workspace_id AND p.user_id = ? AND (s.expires_at = 0 OR s.expires_at > ?)) OR ` +
			isInFolder
		args = append(append(args, by.User, micros(by.At)), folderArgs(by)...)
	}
	where.when(true, `(`+seen+`)`, args...)
}

// byName is Visible in the order of names. It examines as many templates at most as a filtered page.
func (l *PromptLists) byName(ctx context.Context, by identity.Actor, f prompt.Filter,
	q page.Query) (prompt.Page, error) {
	within := newConditions(`t.workspace_id = ? AND t.deleted_at = 0 AND t.name_key > ?`, by.Workspace, q.After)
	var last string
	if _, err := l.db.get(ctx, &last, `SELECT t.name_key FROM prompt_templates t WHERE `+within.sql()+
		` ORDER BY t.name_key LIMIT 1 OFFSET ?`, within.args(l.db.scans.templates-1)...); err != nil {
		return prompt.Page{}, err
	}
	within.when(last != "", `t.name_key <= ?`, last)
	filtered(within, f)
	seenBy(within, by)
	begin, args := templatesFor(by, templateColumns)
	var rows []templateRow
	if err := l.db.list(ctx, &rows, begin+` WHERE `+within.sql()+` ORDER BY t.name_key LIMIT ?`,
		append(args, within.args(q.Limit+1)...)...); err != nil {
		return prompt.Page{}, err
	}
	found, err := templatesOf(by, rows)
	if err != nil {
		return prompt.Page{}, err
	}
	cut := page.Cut(found, q.Limit, func(t prompt.Template) string { return prompt.NameKey(t.Name) })
	return endingAt(cut, last), nil
}

// Outline implements ports.PromptLists.
func (l *PromptLists) Outline(ctx context.Context, by identity.Actor, folder string,
	limit int) ([]prompt.Entry, error) {
	if by.Role == identity.NoRole || by.Ceiling == identity.NoRole {
		return nil, nil
	}
	where := chosen(by, prompt.Filter{})
	filtered(where, prompt.Filter{Folder: folder})
	seenBy(where, by)
	var rows []struct {
		ID   prompt.ID `db:"id"`
		Name string    `db:"name"`
		Tags string    `db:"tags"`
	}
	if err := l.db.list(ctx, &rows, `SELECT t.id, t.name, t.tags FROM prompt_templates t WHERE `+where.sql()+
		` ORDER BY t.name_key LIMIT ?`, where.args(limit)...); err != nil {
		return nil, err
	}
	entries := make([]prompt.Entry, len(rows))
	for i, row := range rows {
		entries[i] = prompt.Entry{ID: row.ID, Name: row.Name}
		if err := fromJSON(row.Tags, &entries[i].Tags); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// floor returns where a page of templates has to end that are filtered, by a filter or by the folders that are shared
// with by.
func (l *PromptLists) floor(ctx context.Context, by identity.Actor, f prompt.Filter, q page.Query,
	inFolders bool) (string, error) {
	if !f.Narrows() && !inFolders {
		return "", nil
	}
	of := func(condition string, values ...any) branch {
		where := chosen(by, prompt.Filter{Deleted: f.Deleted})
		where.when(condition != "", condition, values...)
		where.bounded(`t.id`, q.After, "")
		return branch{`prompt_templates t`, `t.id`, where}
	}
	if by.Role >= identity.Admin || f.Deleted {
		return l.db.floor(ctx, l.db.scans.templates, of(""))
	}
	shares := newConditions(`s.workspace_id = ? AND s.user_id = ?`, by.Workspace, by.User)
	shares.bounded(`s.template_id`, q.After, "")
	branches := []branch{
		of(`t.owner_id = ?`, by.User), of(`t.visibility = 'workspace'`), {`prompt_shares s`, `s.template_id`, shares},
	}
	if by.Grouped {
		shares = sharesOfGroups(by)
		shares.bounded(`s.template_id`, q.After, "")
		branches = append(branches, branch{groupShares, `s.template_id`, shares})
	}
	if inFolders {
		branches = append(branches, of(""))
	}
	return l.db.floor(ctx, l.db.scans.templates, branches...)
}
