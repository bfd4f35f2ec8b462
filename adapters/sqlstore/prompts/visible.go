package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// Visible implements ports.PromptLists. Each reason to see a template is a separate branch, on an index that begins
// with the reason's column: a member who may see thirty of a hundred thousand templates reads about thirty rows. No
// index serves filters and folder shares: the number of rows that they filter out is bounded in each branch.
func (l *Lists) Visible(
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
	conditions := chosen(by, f)
	conditions.PageBounds(`t.id`, q.After, floor)
	filtered(conditions, f)

	begin, args := templatesFor(by, templateColumns)
	visible := conditions.SQL()
	if by.Role >= identity.Admin || f.Deleted { // chosen selects those that by can restore
		args = append(args, conditions.Args(q.Limit+1)...)
	} else {
		shares := db.NewConditions(`s.workspace_id = ? AND s.user_id = ?`, by.Workspace, by.User)
		shares.PageBounds(`s.template_id`, q.After, floor)
		visible = `t.id IN (
			SELECT id FROM (SELECT t.id FROM prompt_templates t WHERE t.owner_id = ?
			AND ` + conditions.SQL() + ` ORDER BY t.id DESC LIMIT ?) a
			UNION
			SELECT id FROM (SELECT t.id FROM prompt_templates t WHERE t.visibility = 'workspace'
			AND ` + conditions.SQL() + ` ORDER BY t.id DESC LIMIT ?) b
			UNION
			SELECT id FROM (SELECT t.id FROM prompt_shares s JOIN prompt_templates t ON t.id = s.template_id
				WHERE ` + shares.SQL() + ` AND (s.expires_at = 0 OR s.expires_at > ?) AND ` + conditions.SQL() + `
				ORDER BY s.template_id DESC LIMIT ?) c`
		args = append(args, by.User)
		args = append(args, conditions.Args(q.Limit+1)...)
		args = append(args, conditions.Args(q.Limit+1)...)
		args = append(args, shares.Args(db.Micros(by.At))...)
		args = append(args, conditions.Args(q.Limit+1)...)
		if by.Grouped {
			shares = sharesOfGroups(by)
			shares.PageBounds(`s.template_id`, q.After, floor)
			visible += `
			UNION
			SELECT id FROM (SELECT DISTINCT t.id FROM ` + groupShares + ` JOIN prompt_templates t ON t.id = s.template_id
				WHERE ` + shares.SQL() + ` AND (s.expires_at = 0 OR s.expires_at > ?) AND ` + conditions.SQL() + `
				ORDER BY t.id DESC LIMIT ?) d`
			args = append(args, shares.Args(db.Micros(by.At))...)
			args = append(args, conditions.Args(q.Limit+1)...)
		}
		if inFolders {
			visible += `
			UNION
			SELECT id FROM (SELECT t.id FROM prompt_templates t
				WHERE ` + conditions.SQL() + ` AND ` + isInFolder + ` ORDER BY t.id DESC LIMIT ?) e`
			args = append(append(args, conditions.Args(folderArgs(by)...)...), q.Limit+1)
		}
		visible += `)`
		args = append(args, q.Limit+1)
	}
	rows, err := packedTemplates(by).List(ctx, l.db.DB, `id DESC`, begin+` WHERE `+visible+` ORDER BY t.id DESC LIMIT ?`,
		args...)
	if err != nil {
		return prompt.Page{}, err
	}
	found, err := templatesOf(by, rows)
	if err != nil {
		return prompt.Page{}, err
	}
	return db.ContinueAt(page.Cut(found, q.Limit, func(t prompt.Template) string { return string(t.ID) }), floor), nil
}

// The packings of a page of templates, for a caller without groups and for others.
var (
	ownTemplates     = db.NewPackedList[templateRow]("group_access", "best_folder")
	groupedTemplates = db.NewPackedList[templateRow]()
)

func packedTemplates(by identity.Actor) *db.PackedList[templateRow] {
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
func chosen(by identity.Actor, f prompt.Filter) *db.Conditions {
	if !f.Deleted {
		return db.NewConditions(`t.workspace_id = ? AND t.deleted_at = 0`, by.Workspace)
	}
	conditions := db.NewConditions(`t.workspace_id = ? AND t.deleted_at <> 0 AND t.deleted_at >= ?`, by.Workspace,
		db.Micros(by.At.Add(-access.RestoreWithin)))
	conditions.When(by.ReadOnly(), `FALSE`)
	conditions.When(by.Role < identity.Admin, `t.owner_id = ?`, by.User)
	return conditions
}

// filtered adds the conditions of a filter.
func filtered(conditions *db.Conditions, f prompt.Filter) {
	if f.Query != "" {
		part := "%" + db.LikeEscape(prompt.NameKey(f.Query)) + "%"
		// Everyone who sees the template sees a frozen version.
		conditions.When(true, `(t.search LIKE ? ESCAPE '\' OR EXISTS (SELECT 1 FROM prompt_versions v WHERE v.id = CASE
			WHEN t.active_version_id <> '' THEN t.active_version_id ELSE t.latest_frozen_id END
			AND v.search LIKE ? ESCAPE '\'))`, part, part)
	}
	conditions.When(f.Tag != "", `REPLACE(t.tags, ?, '') <> t.tags`, tagItem(f.Tag)) // LIKE ignores case on SQLite
	conditions.When(f.Folder != "", `t.name_key LIKE ? ESCAPE '\'`, db.LikeEscape(prompt.NameKey(f.Folder))+"/%")
	conditions.When(f.Label != "", `EXISTS (SELECT 1 FROM prompt_labels l WHERE l.template_id = t.id AND l.label = ?)`,
		f.Label)
	conditions.When(f.Owner != "", `t.owner_id = ?`, f.Owner)
	if f.UnusedSince != 0 {
		conditions.When(true, `t.created_at < ? AND NOT EXISTS (SELECT 1 FROM version_reads r WHERE r.template_id = t.id
			AND r.day >= ?)`, db.Micros(f.UnusedSince.Begin()), f.UnusedSince)
	}
	if f.Active != nil {
		conditions.When(true, `(t.active_version_id <> '') = ?`, *f.Active)
	}
}

// SeenBy adds the condition that by sees a template t, for a statement that does not read templates in the order of
// ids.
func SeenBy(conditions *db.Conditions, by identity.Actor) {
	if by.Role >= identity.Admin {
		return
	}
	condition, args := `t.owner_id = ? OR t.visibility = 'workspace' OR EXISTS (SELECT 1 FROM prompt_shares s
		WHERE s.template_id = t.id AND s.user_id = ? AND (s.expires_at = 0 OR s.expires_at > ?))`,
		[]any{by.User, by.User, db.Micros(by.At)}
	if by.Grouped {
		condition += ` OR EXISTS (SELECT 1 FROM ` + groupShares + ` WHERE s.template_id = t.id
			AND p.workspace_id = t.workspace_id AND p.user_id = ? AND (s.expires_at = 0 OR s.expires_at > ?)) OR ` +
			isInFolder
		args = append(append(args, by.User, db.Micros(by.At)), folderArgs(by)...)
	}
	conditions.When(true, `(`+condition+`)`, args...)
}

// byName is Visible in the order of names. It examines at most as many templates as a filtered page.
func (l *Lists) byName(ctx context.Context, by identity.Actor, f prompt.Filter,
	q page.Query) (prompt.Page, error) {
	conditions := db.NewConditions(`t.workspace_id = ? AND t.deleted_at = 0 AND t.name_key > ?`, by.Workspace, q.After)
	var last string
	if _, err := l.db.Get(ctx, &last, `SELECT t.name_key FROM prompt_templates t WHERE `+conditions.SQL()+
		` ORDER BY t.name_key LIMIT 1 OFFSET ?`, conditions.Args(l.db.Scans.Templates-1)...); err != nil {
		return prompt.Page{}, err
	}
	conditions.When(last != "", `t.name_key <= ?`, last)
	filtered(conditions, f)
	SeenBy(conditions, by)
	begin, args := templatesFor(by, templateColumns)
	var rows []templateRow
	if err := l.db.List(ctx, &rows, begin+` WHERE `+conditions.SQL()+` ORDER BY t.name_key LIMIT ?`,
		append(args, conditions.Args(q.Limit+1)...)...); err != nil {
		return prompt.Page{}, err
	}
	found, err := templatesOf(by, rows)
	if err != nil {
		return prompt.Page{}, err
	}
	cut := page.Cut(found, q.Limit, func(t prompt.Template) string { return prompt.NameKey(t.Name) })
	return db.ContinueAt(cut, last), nil
}

// Outline implements ports.PromptLists.
func (l *Lists) Outline(ctx context.Context, by identity.Actor, folder string,
	limit int) ([]prompt.Entry, error) {
	if by.Role == identity.NoRole || by.Ceiling == identity.NoRole {
		return nil, nil
	}
	conditions := chosen(by, prompt.Filter{})
	filtered(conditions, prompt.Filter{Folder: folder})
	SeenBy(conditions, by)
	var rows []struct {
		ID   prompt.ID `db:"id"`
		Name string    `db:"name"`
		Tags string    `db:"tags"`
	}
	if err := l.db.List(ctx, &rows, `SELECT t.id, t.name, t.tags FROM prompt_templates t WHERE `+conditions.SQL()+
		` ORDER BY t.name_key LIMIT ?`, conditions.Args(limit)...); err != nil {
		return nil, err
	}
	entries := make([]prompt.Entry, len(rows))
	for i, row := range rows {
		entries[i] = prompt.Entry{ID: row.ID, Name: row.Name}
		if err := db.FromJSON(row.Tags, &entries[i].Tags); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// floor returns the id at which a page has to end that is filtered, by a filter or by the folders that are shared with
// by.
func (l *Lists) floor(ctx context.Context, by identity.Actor, f prompt.Filter, q page.Query,
	inFolders bool) (string, error) {
	if !f.Narrows() && !inFolders {
		return "", nil
	}
	branch := func(condition string, values ...any) db.Branch {
		conditions := chosen(by, prompt.Filter{Deleted: f.Deleted})
		conditions.When(condition != "", condition, values...)
		conditions.PageBounds(`t.id`, q.After, "")
		return db.Branch{From: `prompt_templates t`, ID: `t.id`, Where: conditions}
	}
	if by.Role >= identity.Admin || f.Deleted {
		return l.db.PageFloor(ctx, l.db.Scans.Templates, branch(""))
	}
	shares := db.NewConditions(`s.workspace_id = ? AND s.user_id = ?`, by.Workspace, by.User)
	shares.PageBounds(`s.template_id`, q.After, "")
	branches := []db.Branch{
		branch(`t.owner_id = ?`, by.User), branch(`t.visibility = 'workspace'`),
		{From: `prompt_shares s`, ID: `s.template_id`, Where: shares},
	}
	if by.Grouped {
		shares = sharesOfGroups(by)
		shares.PageBounds(`s.template_id`, q.After, "")
		branches = append(branches, db.Branch{From: groupShares, ID: `s.template_id`, Where: shares})
	}
	if inFolders {
		branches = append(branches, branch(""))
	}
	return l.db.PageFloor(ctx, l.db.Scans.Templates, branches...)
}
