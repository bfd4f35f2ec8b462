package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
)

// folderSharesOfCaller are the folder shares of a caller and of the caller's groups. Its arguments are folderArgs.
const folderSharesOfCaller = `prompt_folder_shares f WHERE f.workspace_id = ? AND f.user_id IN (
	SELECT CAST(? AS TEXT) UNION ALL SELECT p.group_id FROM group_people p WHERE p.workspace_id = ? AND p.user_id = ?)
	AND (f.expires_at = 0 OR f.expires_at > ?)`

func folderArgs(by identity.Actor) []any {
	return []any{by.Workspace, by.User, by.Workspace, by.User, db.Micros(by.At)}
}

// bestFolder is the highest role by folder shares, as a digit, followed by the innermost folder that gives it: a folder
// sorts after its parents. Its arguments are folderArgs.
func bestFolder(name string) string {
	return `COALESCE((SELECT MAX(f.access || f.folder) FROM ` + folderSharesOfCaller + ` AND ` +
		db.FolderShareReaches(name) + `), '')`
}

// folderGrant decodes a value of bestFolder.
func folderGrant(by identity.Actor, best string) (g access.Grant, found bool) {
	if best == "" {
		return access.Grant{}, false
	}
	return access.Grant{User: by.User, By: access.ByFolder, Role: access.Role(best[0] - '0'), Folder: best[1:]}, true
}

// sharedColumns are the highest roles on t that a caller has by groups, and by folders. The arguments are the caller,
// the time, and folderArgs.
var sharedColumns = []db.Column{
	{Expression: `COALESCE((SELECT MAX(g.access) FROM group_people p
	JOIN prompt_shares g ON g.template_id = t.id AND g.user_id = p.group_id
	WHERE p.workspace_id = t.workspace_id AND p.user_id = ? AND (g.expires_at = 0 OR g.expires_at > ?)), 0)`,
		Path: `group_access`},
	{Expression: bestFolder(`t.name_key`), Path: `best_folder`},
}

// templateTables are templates t with the share s of the caller, who is the first argument.
const templateTables = ` FROM prompt_templates t LEFT JOIN prompt_shares s ON s.template_id = t.id AND s.user_id = ?`

// templatesFor returns the beginning of a statement that reads columns of templates with by's shares, and its
// arguments. For callers without groups and shared folders, neither is looked up.
func templatesFor(by identity.Actor, columns string) (statement string, args []any) {
	if by.Grouped {
		columns = db.ColumnList(sharedColumns) + `, ` + columns
	}
	return `SELECT ` + columns + templateTables, templateArgs(by)
}

// templateArgs are the arguments of sharedColumns, which only callers with groups need, and of templateTables.
func templateArgs(by identity.Actor) []any {
	if !by.Grouped {
		return []any{by.User}
	}
	return append(append([]any{by.User, db.Micros(by.At)}, folderArgs(by)...), by.User)
}

// groupShares are the groups' shares, with the people in the groups.
const groupShares = `group_people p JOIN prompt_shares s ON s.workspace_id = p.workspace_id AND s.user_id = p.group_id`

// sharesOfGroups selects the groupShares whose groups by is in.
func sharesOfGroups(by identity.Actor) *db.Conditions {
	return db.NewConditions(`p.workspace_id = ? AND p.user_id = ?`, by.Workspace, by.User)
}

// isInFolder is the condition that t is in a folder that is shared with a caller or with one of the caller's groups.
// Its arguments are folderArgs.
var isInFolder = `EXISTS (SELECT 1 FROM ` + folderSharesOfCaller + ` AND ` + db.FolderShareReaches(`t.name_key`) + `)`

// hasFolders reports whether any folder is shared with by.
func (store *Store) hasFolders(ctx context.Context, by identity.Actor) (bool, error) {
	if !by.Grouped {
		return false, nil
	}
	var one int
	return store.Get(ctx, &one, `SELECT 1 FROM `+folderSharesOfCaller+` LIMIT 1`, folderArgs(by)...)
}
