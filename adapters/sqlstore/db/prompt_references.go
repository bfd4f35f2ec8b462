package db

import (
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// FolderShareReaches returns the condition that the share f of a folder reaches a template whose name key is name.
func FolderShareReaches(name string) string {
	return `substr(` + name + `, 1, length(f.folder_key) + 1) = f.folder_key || '/'`
}

// RoleOnPrompt selects the role that a user has on the prompt template p, as access.Subject decides it for a person
// whose credential has no ceiling. Its arguments are those of RoleOnPromptArgs.
func RoleOnPrompt(user string) string {
	groupsOfUser := `(SELECT ` + user + ` UNION ALL SELECT gp.group_id FROM group_people gp
		WHERE gp.workspace_id = p.workspace_id AND gp.user_id = ` + user + `)`
	return `COALESCE((SELECT CASE WHEN p.owner_id = m.user_id THEN 4 WHEN m.role >= 3 THEN 3 ELSE (
		SELECT MAX(g.access) FROM (
			SELECT CASE p.visibility WHEN 'workspace' THEN 1 ELSE 0 END AS access
			UNION ALL SELECT s.access FROM prompt_shares s WHERE s.template_id = p.id AND s.user_id IN ` + groupsOfUser + `
				AND (s.expires_at = 0 OR s.expires_at > ?)
			UNION ALL SELECT f.access FROM prompt_folder_shares f WHERE f.workspace_id = p.workspace_id
				AND f.user_id IN ` + groupsOfUser + ` AND (f.expires_at = 0 OR f.expires_at > ?)
				AND ` + FolderShareReaches(`p.name_key`) + `) g) END
		FROM memberships m JOIN users u ON u.id = m.user_id
		WHERE m.workspace_id = p.workspace_id AND m.user_id = ` + user + ` AND m.role > 0 AND u.disabled_at = 0), 0)`
}

// RoleOnPromptArgs returns the arguments of RoleOnPrompt.
func RoleOnPromptArgs(now time.Time) []any { return []any{Micros(now), Micros(now)} }

// ReferredVersion selects the id of the version of the prompt template p that ref names in a reference; empty if there
// is none.
func ReferredVersion(ref string) string {
	return `COALESCE(CASE ` + ref + ` WHEN 'active' THEN p.active_version_id WHEN 'latest' THEN p.latest_frozen_id
		WHEN 'previous' THEN (SELECT pv.id FROM prompt_versions pv WHERE pv.id = (SELECT pa.from_version_id
			FROM prompt_activations pa WHERE pa.template_id = p.id ORDER BY pa.number DESC LIMIT 1))
		ELSE COALESCE((SELECT pl.version_id FROM prompt_labels pl WHERE pl.template_id = p.id
			AND pl.label = ` + ref + `),
			(SELECT pv.id FROM prompt_versions pv WHERE pv.template_id = p.id
			AND (pv.id = ` + ref + ` OR 'v' || pv.number = ` + ref + `))) END, '')`
}

// RoleToReadVersion selects the role that reading a version requires: a draft shows what its editors write.
func RoleToReadVersion(version string) string {
	return `CASE WHEN EXISTS (SELECT 1 FROM prompt_versions pf WHERE pf.id = ` + version + ` AND NOT pf.frozen)
		THEN 2 ELSE 1 END`
}

// ReferenceWrite stores the version that a reference of a holder names now, for the time when the holder's owner may
// not read the prompt.
func ReferenceWrite(ws identity.WorkspaceID, r prompt.Reference) Write {
	return Write{Query: `INSERT INTO prompt_references (holder_id, prompt_id, ref, workspace_id, version_id, lost_at)
		SELECT n.holder, p.id, n.ref, p.workspace_id, ` + ReferredVersion(`n.ref`) + `, 0
		FROM (SELECT CAST(? AS TEXT) AS holder, CAST(? AS TEXT) AS ref) n JOIN prompt_templates p ON p.id = ?
		WHERE p.workspace_id = ?
		ON CONFLICT (holder_id, prompt_id, ref) DO UPDATE SET version_id = excluded.version_id`,
		Args: []any{r.Holder, r.Ref, r.Template, ws}}
}

// MaxRefs is the number of ways to refer to a version: its id, its number, ten labels, previous and latest.
const MaxRefs = 14

// RefArgs returns MaxRefs arguments, in which the last ref is repeated, or nil without refs.
func RefArgs(refs []string) []any {
	if len(refs) == 0 {
		return nil
	}
	args := make([]any, MaxRefs)
	for i := range args {
		args[i] = refs[min(i, len(refs)-1)]
	}
	return args
}
