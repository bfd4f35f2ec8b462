package sqlstore

import "github.com/atrium-hq/atrium/domain/identity"

// groupShareColumn is the highest role that groups of a caller have on t. Its arguments are the caller and the time.
const groupShareColumn = `, COALESCE((SELECT MAX(g.access) FROM group_people p
	JOIN prompt_shares g ON g.template_id = t.id AND g.user_id = p.group_id
	WHERE p.workspace_id = t.workspace_id AND p.user_id = ? AND (g.expires_at = 0 OR g.expires_at > ?)), 0)
	AS group_access`

// templatesStatement is the beginning of a statement that reads columns of templates with the shares of a caller.
// Callers who are in no group do not look for groups.
func templatesStatement(grouped bool, columns string) string {
	if !grouped {
		return `SELECT ` + columns + templateTables
	}
	return `SELECT ` + columns + groupShareColumn + templateTables
}

// templatesFor returns templatesStatement for by, and its arguments.
func templatesFor(by identity.Actor, columns string) (statement string, args []any) {
	return templatesStatement(by.Grouped, columns), templatesArgs(by)
}

// templatesArgs are the arguments of templatesStatement.
func templatesArgs(by identity.Actor) []any {
	if by.Grouped {
		return []any{by.User, micros(by.At), by.User}
	}
	return []any{by.User}
}

// groupShares are the shares of groups, with the people in them.
const groupShares = `group_people p JOIN prompt_shares s ON s.workspace_id = p.workspace_id AND s.user_id = p.group_id`

// sharesOfGroups selects those of groupShares that are for by.
func sharesOfGroups(by identity.Actor) *conditions {
	return newConditions(`p.workspace_id = ? AND p.user_id = ?`, by.Workspace, by.User)
}
