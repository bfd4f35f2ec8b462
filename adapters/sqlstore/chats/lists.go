package chats

import (
	"context"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// Lists reads lists of chat templates, and of a template's members.
type Lists struct{ db *Store }

var _ ports.ChatLists = (*Lists)(nil)

// Pages of templates are packed in two ways: for a caller without groups, and for others.
var (
	ownChats     = db.NewPackedList[summaryRow]("group_role")
	groupedChats = db.NewPackedList[summaryRow]()
)

// Visible implements ports.ChatLists, with a branch for each reason to see a template, as PromptLists.Visible. Few
// templates refer to one prompt: one branch finds them all.
func (l *Lists) Visible(ctx context.Context, by identity.Actor, f chat.Filter, q page.Query) (chat.Page, error) {
	if by.Role == identity.NoRole || by.Ceiling == identity.NoRole {
		return chat.Page{}, nil
	}
	floor, err := l.floor(ctx, by, f, q)
	if err != nil {
		return chat.Page{}, err
	}
	conditions := db.NewConditions(`t.workspace_id = ? AND t.deleted_at = 0`, by.Workspace)
	conditions.PageBounds(`t.id`, q.After, floor)
	conditions.When(f.Query != "", `t.search LIKE ? ESCAPE '\'`, "%"+db.LikeEscape(strings.ToLower(f.Query))+"%")
	conditions.When(f.Status != "", `t.status = ?`, f.Status)
	conditions.When(f.Visibility != "", `t.visibility = ?`, f.Visibility)
	conditions.When(f.Prompt != "", `t.prompt_id = ?`, f.Prompt)
	conditions.When(len(f.Refs) > 0, refsMatch, db.RefArgs(f.Refs)...)
	if f.Prompt != "" {
		SeenBy(conditions, by)
	}

	begin, args := templatesFor(by, summaryColumns, db.RoleOnPromptArgs(by.At)...)
	ids := `SELECT t.id FROM chat_templates t WHERE ` + conditions.SQL() + ` ORDER BY t.id DESC LIMIT ?`
	if by.Role >= identity.Admin || f.Prompt != "" {
		args = append(args, conditions.Args(q.Limit+1)...)
	} else {
		members := db.NewConditions(`c.workspace_id = ? AND c.user_id = ?`, by.Workspace, by.User)
		members.PageBounds(`c.template_id`, q.After, floor)
		ids = `SELECT id FROM (SELECT t.id FROM chat_templates t WHERE t.owner_id = ? AND ` + conditions.SQL() +
			` ORDER BY t.id DESC LIMIT ?) a
			UNION
			SELECT id FROM (SELECT t.id FROM chat_templates t WHERE t.visibility = 'workspace'
			AND ` + conditions.SQL() + ` ORDER BY t.id DESC LIMIT ?) b
			UNION
			SELECT id FROM (SELECT t.id FROM chat_members c JOIN chat_templates t ON t.id = c.template_id
				WHERE ` + members.SQL() + ` AND NOT c.invited AND ` + conditions.SQL() + ` ORDER BY c.template_id DESC LIMIT ?) c`
		args = append(args, by.User)
		args = append(args, conditions.Args(q.Limit+1)...)
		args = append(args, conditions.Args(q.Limit+1)...)
		args = append(args, members.Args()...)
		args = append(args, conditions.Args(q.Limit+1)...)
		if by.Grouped {
			members = membersByGroups(by)
			members.PageBounds(`c.template_id`, q.After, floor)
			ids += `
			UNION
			SELECT id FROM (SELECT DISTINCT t.id FROM ` + groupMembers + ` JOIN chat_templates t ON t.id = c.template_id
				WHERE ` + members.SQL() + ` AND ` + conditions.SQL() + ` ORDER BY t.id DESC LIMIT ?) d`
			args = append(args, members.Args()...)
			args = append(args, conditions.Args(q.Limit+1)...)
		}
	}
	packing := ownChats
	if by.Grouped {
		packing = groupedChats
	}
	rows, err := packing.List(ctx, l.db.DB, `id DESC`, begin+` WHERE t.id IN (`+ids+`) ORDER BY t.id DESC LIMIT ?`,
		append(args, q.Limit+1)...)
	if err != nil {
		return chat.Page{}, err
	}
	found := make([]chat.Summary, len(rows))
	for i := range rows {
		if found[i], err = rows[i].summary(by); err != nil {
			return chat.Page{}, err
		}
	}
	return db.ContinueAt(page.Cut(found, q.Limit, func(t chat.Summary) string { return string(t.ID) }), floor), nil
}

// floor returns the id at which a page of templates has to end if no index serves its filter.
func (l *Lists) floor(ctx context.Context, by identity.Actor, f chat.Filter, q page.Query) (string, error) {
	branch := func(condition string, values ...any) db.Branch {
		conditions := db.NewConditions(`t.workspace_id = ? AND t.deleted_at = 0`, by.Workspace)
		conditions.When(condition != "", condition, values...)
		conditions.PageBounds(`t.id`, q.After, "")
		return db.Branch{From: `chat_templates t`, ID: `t.id`, Where: conditions}
	}
	n, admin := l.db.Scans.Templates, by.Role >= identity.Admin
	switch isIndexed := f.Query == "" && len(f.Refs) == 0; {
	case f.Prompt != "":
		if admin && isIndexed && f.Status == "" && f.Visibility == "" {
			return "", nil
		}
		return l.db.PageFloor(ctx, n, branch(`t.prompt_id = ?`, f.Prompt))
	case isIndexed && ((f.Status == "" && f.Visibility == "") || (admin && (f.Status == "" || f.Visibility == ""))):
		return "", nil
	case !admin:
		members := db.NewConditions(`c.workspace_id = ? AND c.user_id = ?`, by.Workspace, by.User)
		members.PageBounds(`c.template_id`, q.After, "")
		branches := []db.Branch{
			branch(`t.owner_id = ?`, by.User), branch(`t.visibility = 'workspace'`),
			{From: `chat_members c`, ID: `c.template_id`, Where: members},
		}
		if by.Grouped {
			members = membersByGroups(by)
			members.PageBounds(`c.template_id`, q.After, "")
			branches = append(branches, db.Branch{From: groupMembers, ID: `c.template_id`, Where: members})
		}
		return l.db.PageFloor(ctx, n, branches...)
	case f.Status != "":
		return l.db.PageFloor(ctx, n, branch(`t.status = ?`, f.Status))
	case f.Visibility != "":
		return l.db.PageFloor(ctx, n, branch(`t.visibility = ?`, f.Visibility))
	default:
		return l.db.PageFloor(ctx, n, branch(""))
	}
}

// SeenBy adds the condition that by sees a template.
func SeenBy(conditions *db.Conditions, by identity.Actor) {
	if by.Role >= identity.Admin {
		return
	}
	isMember, args := `EXISTS (SELECT 1 FROM chat_members m WHERE m.template_id = t.id AND m.user_id = ?
		AND NOT m.invited)`, []any{by.User, by.User}
	if by.Grouped {
		isMember += ` OR EXISTS (SELECT 1 FROM ` + groupMembers + ` WHERE c.template_id = t.id AND p.workspace_id = ?
			AND p.user_id = ?)`
		args = append(args, by.Workspace, by.User)
	}
	conditions.When(true, `(t.owner_id = ? OR t.visibility = 'workspace' OR `+isMember+`)`, args...)
}

// groupMembers are the members of chats that are groups, with the people in them.
const groupMembers = `group_people p JOIN chat_members c ON c.workspace_id = p.workspace_id AND c.user_id = p.group_id`

// membersByGroups selects the groupMembers whose groups by is in.
func membersByGroups(by identity.Actor) *db.Conditions {
	return db.NewConditions(`p.workspace_id = ? AND p.user_id = ?`, by.Workspace, by.User)
}

// Members implements ports.ChatLists.
func (l *Lists) Members(
	ctx context.Context, ws identity.WorkspaceID, id chat.ID, q page.Query,
) (chat.MemberPage, error) {
	var rows []memberRow
	err := l.db.List(ctx, &rows, allMembers+`WHERE c.user_id > ? ORDER BY c.user_id LIMIT ?`,
		id, ws, access.Owner, id, ws, q.After, q.Limit+1)
	if err != nil {
		return chat.MemberPage{}, err
	}
	found := db.Convert(rows, (*memberRow).member)
	return page.Cut(found, q.Limit, func(m chat.Member) string { return string(m.User) }), nil
}

// Member implements ports.ChatLists.
func (l *Lists) Member(ctx context.Context, ws identity.WorkspaceID, id chat.ID, user identity.UserID) (chat.Member,
	error) {
	var row memberRow
	found, err := l.db.Get(ctx, &row, allMembers+`WHERE c.user_id = ?`, id, ws, access.Owner, id, ws, user)
	if err == nil && !found {
		err = chat.ErrMemberNotFound
	}
	if err != nil {
		return chat.Member{}, err
	}
	return row.member(), nil
}

// Uses implements ports.ChatLists.
func (l *Lists) Uses(ctx context.Context, ws identity.WorkspaceID, p prompt.ID, refs []string,
	limit int) ([]prompt.Use, error) {
	draft := db.NewConditions(`t.prompt_id = ? AND t.deleted_at = 0`, p)
	versions := db.NewConditions(`v.prompt_id = ?`, p)
	draft.When(len(refs) > 0, refsMatch, db.RefArgs(refs)...)
	versions.When(len(refs) > 0, strings.Replace(refsMatch, `t.`, `v.`, 1), db.RefArgs(refs)...)
	references := db.NewConditions(`r.prompt_id = ? AND r.lost_at <> 0`, p) // versions that lost references keep
	references.When(len(refs) > 0, strings.Replace(refsMatch, `t.prompt_ref`, `r.version_id`, 1),
		db.RefArgs(refs)...)
	var rows []struct {
		ID        string          `db:"id"`
		Name      string          `db:"name"`
		Owner     identity.UserID `db:"owner_id"`
		OwnerName string          `db:"owner_name"`
	}
	err := l.db.List(ctx, &rows, `SELECT t.id, t.name, t.owner_id, COALESCE(u.name, '') AS owner_name
		FROM chat_templates t LEFT JOIN users u ON u.id = t.owner_id
		WHERE t.workspace_id = ? AND t.deleted_at = 0 AND t.id IN (
			SELECT t.id FROM chat_templates t WHERE `+draft.SQL()+`
			UNION SELECT t.id FROM chat_versions v JOIN chat_templates t ON t.id = v.template_id
				AND t.published_version_id = v.id WHERE `+versions.SQL()+`
			UNION SELECT t.id FROM prompt_references r JOIN chat_templates t ON t.id = r.holder_id
				WHERE `+references.SQL()+` AND (t.prompt_id = r.prompt_id AND t.prompt_ref = r.ref
				OR EXISTS (SELECT 1 FROM chat_versions v WHERE v.id = t.published_version_id
				AND v.prompt_id = r.prompt_id AND v.prompt_ref = r.ref)))
		ORDER BY t.id LIMIT ?`,
		slices.Concat([]any{ws}, draft.Args(), versions.Args(), references.Args(limit))...)
	uses := make([]prompt.Use, len(rows))
	for i, row := range rows {
		uses[i] = prompt.Use(row)
	}
	return uses, err
}

// refsMatch has a placeholder for each way to refer to a version.
var refsMatch = `t.prompt_ref IN (` + db.Placeholders(db.MaxRefs) + `)`
