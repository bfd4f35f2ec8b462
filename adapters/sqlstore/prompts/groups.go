package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
)

// sharedColumns are the highest roles on t that a caller has by groups, and by folders. The arguments are the caller
// and the time, and those of folderArgs.
var sharedColumns = []db.PackedColumn{
	{Expression: `COALESCE((SELECT MAX(g.access) FROM group_people p
	JOIN prompt_shares g ON g.template_id = t.id AND g.user_id = p.group_id
	WHERE p.workspace_id = t.workspace_id AND p.user_id = ? AND (g.expires_at = 0 OR g.expires_at > ?)), 0)`,
		Path: `group_access`},
	{Expression: bestFolder(`t.name_key`), Path: `best_folder`},
}

// templatesFor returns the beginning of a statement that reads columns of templates with the shares of by, and its
// arguments. For callers without groups and shared folders, neither is looked up.
func templatesFor(by identity.Actor, columns string) (statement string, args []any) {
	if by.Grouped {
		columns += `, ` + db.ColumnList(sharedColumns)
	}
	return `SELECT ` + columns + templateTables, templatesArgs(by)
}

// templatesArgs are the arguments of templatesFor.
func templatesArgs(by identity.Actor) []any {
	if !by.Grouped {
		return []any{by.User}
	}
	return append(append([]any{by.User, db.Micros(by.At)}, folderArgs(by)...), by.User)
}

// groupShares are the shares of groups, with the people in them.
const groupShares = `group_people p JOIN prompt_shares s ON s.workspace_id = p.workspace_id AND s.user_id = p.group_id`

// sharesOfGroups selects those of groupShares that are for by.
func sharesOfGroups(by identity.Actor) *db.Conditions {
	return db.NewConditions(`p.workspace_id = ? AND p.user_id = ?`, by.Workspace, by.User)
}

// isInFolder is the condition that t is in a folder that a caller or a group of the caller has a share of. Its
// arguments are those of folderArgs.
var isInFolder = `EXISTS (SELECT 1 FROM ` + folderSharesOfCaller + ` AND ` + db.FolderShareReaches(`t.name_key`) + `)`

// hasFolders reports whether by has a share of a folder.
func (store *Store) hasFolders(ctx context.Context, by identity.Actor) (bool, error) {
	if !by.Grouped {
		return false, nil
	}
	var one int
	return store.Get(ctx, &one, `SELECT 1 FROM `+folderSharesOfCaller+` LIMIT 1`, folderArgs(by)...)
}
