package prompts

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// holders are the objects that refer to prompts.
const holders = `(SELECT id, workspace_id, owner_id, deleted_at FROM chat_templates
	UNION ALL SELECT id, workspace_id, owner_id, deleted_at FROM prompt_templates)`

// roleOn is the role that a user has on the prompt template p, as access.Subject decides it for a person whose
// credential has no ceiling. Its arguments are those of roleArgs.
func roleOn(user string) string {
	groupsOfUser := `(SELECT ` + user + ` UNION ALL SELECT gp.group_id FROM group_people gp
		WHERE gp.workspace_id = p.workspace_id AND gp.user_id = ` + user + `)`
	return `COALESCE((SELECT CASE WHEN p.owner_id = m.user_id THEN 4 WHEN m.role >= 3 THEN 3 ELSE (
		SELECT MAX(g.access) FROM (
			SELECT CASE p.visibility WHEN 'workspace' THEN 1 ELSE 0 END AS access
			UNION ALL SELECT s.access FROM prompt_shares s WHERE s.template_id = p.id AND s.user_id IN ` + groupsOfUser + `
				AND (s.expires_at = 0 OR s.expires_at > ?)
			UNION ALL SELECT f.access FROM prompt_folder_shares f WHERE f.workspace_id = p.workspace_id
				AND f.user_id IN ` + groupsOfUser + ` AND (f.expires_at = 0 OR f.expires_at > ?)
				AND ` + reaches(`p.name_key`) + `) g) END
		FROM memberships m JOIN users u ON u.id = m.user_id
		WHERE m.workspace_id = p.workspace_id AND m.user_id = ` + user + ` AND m.role > 0 AND u.disabled_at = 0), 0)`
}

// RoleArgs returns the arguments of the role that a statement reads by roleOn.
func RoleArgs(now time.Time) []any { return []any{db.Micros(now), db.Micros(now)} }

// Referred is the id of the version of the prompt template p that ref names in a reference; empty if there is none.
func Referred(ref string) string {
	return `COALESCE(CASE ` + ref + ` WHEN 'active' THEN p.active_version_id WHEN 'latest' THEN p.latest_frozen_id
		WHEN 'previous' THEN (SELECT pv.id FROM prompt_versions pv WHERE pv.id = (SELECT pa.from_version_id
			FROM prompt_activations pa WHERE pa.template_id = p.id ORDER BY pa.number DESC LIMIT 1))
		ELSE COALESCE((SELECT pl.version_id FROM prompt_labels pl WHERE pl.template_id = p.id
			AND pl.label = ` + ref + `),
			(SELECT pv.id FROM prompt_versions pv WHERE pv.template_id = p.id
			AND (pv.id = ` + ref + ` OR 'v' || pv.number = ` + ref + `))) END, '')`
}

// roleFor is the role that reading a version requires: a draft shows what its editors write.
func roleFor(version string) string {
	return `CASE WHEN EXISTS (SELECT 1 FROM prompt_versions pf WHERE pf.id = ` + version + ` AND NOT pf.frozen)
		THEN 2 ELSE 1 END`
}

// PromptLostColumn selects whether the owner of the chat template t may not read the prompt of its draft or of its
// published version. Its arguments are those of roleArgs.
var PromptLostColumn = `((t.prompt_id <> '' OR t.published_version_id <> '') AND EXISTS (
	SELECT 1 FROM (SELECT t.prompt_id AS prompt_id, t.prompt_ref AS ref UNION
		SELECT cv.prompt_id, cv.prompt_ref FROM chat_versions cv WHERE cv.id = t.published_version_id) c
	JOIN prompt_templates p ON p.id = c.prompt_id AND p.workspace_id = t.workspace_id AND p.deleted_at = 0
	WHERE ` + roleOn(`t.owner_id`) + ` < ` + roleFor(Referred(`c.ref`)) + `)) AS prompt_lost`

// LoadPromptLost reads t.PromptLost, by itself: SQLite compiles the statement each time in a transaction, which takes
// longer than all of the rest of a change.
func (store *Store) LoadPromptLost(ctx context.Context, by identity.Actor, t *chat.Template) error {
	t.PromptLost = false
	if t.Prompt == (chat.Prompt{}) && (t.Published == nil || t.Published.Prompt == (chat.Prompt{})) {
		return nil
	}
	_, err := store.Get(ctx, &t.PromptLost, `SELECT `+PromptLostColumn+` FROM chat_templates t WHERE t.id = ?`,
		append(RoleArgs(by.At), t.ID)...)
	return err
}

// referenceQuery reads the version that a reference names, the one that it had when its owner last could read it, and
// whether the owner can. It names the table of the holder: looking in both takes several times as long.
var referenceQuery = map[bool]string{false: referenceIn(`chat_templates`), true: referenceIn(`prompt_templates`)}

func referenceIn(holders string) string {
	return `SELECT q.named, q.kept, q.role >= ` + roleFor(`q.named`) + ` AS readable FROM (
		SELECT ` + roleOn(`h.owner_id`) + ` AS role, ` + Referred(`n.ref`) + ` AS named,
			COALESCE(r.version_id, '') AS kept
		FROM (SELECT CAST(? AS TEXT) AS ref) n
		JOIN ` + holders + ` h ON h.id = ?
		JOIN prompt_templates p ON p.id = ? AND p.workspace_id = h.workspace_id
		LEFT JOIN prompt_references r ON r.holder_id = h.id AND r.prompt_id = p.id AND r.ref = n.ref
		WHERE h.workspace_id = ?) q`
}

// Referenced implements ports.Prompts. One statement finds both the right and the version: if the right ended between
// two, a version that was made after its end could be returned.
func (p *Prompts) Referenced(
	ctx context.Context, by identity.Actor, r prompt.Reference,
) (reading *prompt.Reading, v *prompt.Version, lost bool, err error) {
	var row struct {
		Named    prompt.VersionID `db:"named"`
		Kept     prompt.VersionID `db:"kept"`
		Readable bool             `db:"readable"`
	}
	found, err := p.db.Get(ctx, &row, referenceQuery[r.InPrompt()],
		append(RoleArgs(by.At), r.Ref, r.Holder, r.Template, by.Workspace)...)
	if err == nil && !found {
		err = prompt.ErrNotFound
	}
	if err != nil {
		return nil, nil, false, err
	}
	id := row.Named
	if !row.Readable {
		id = row.Kept
	}
	reading, v, err = p.GetVersion(ctx, by, r.Template, prompt.Ref{ID: id})
	if v != nil && !row.Readable && !v.Frozen { // its text is not what it was
		v = nil
	}
	return reading, v, !row.Readable, err
}

// ReferenceWrite stores the version that a reference of a holder names now, for the time when the holder's owner may
// not read the prompt.
func ReferenceWrite(ws identity.WorkspaceID, r prompt.Reference) db.Write {
	return db.Write{Query: `INSERT INTO prompt_references (holder_id, prompt_id, ref, workspace_id, version_id, lost_at)
		SELECT n.holder, p.id, n.ref, p.workspace_id, ` + Referred(`n.ref`) + `, 0
		FROM (SELECT CAST(? AS TEXT) AS holder, CAST(? AS TEXT) AS ref) n JOIN prompt_templates p ON p.id = ?
		WHERE p.workspace_id = ?
		ON CONFLICT (holder_id, prompt_id, ref) DO UPDATE SET version_id = excluded.version_id`,
		Args: []any{r.Holder, r.Ref, r.Template, ws}}
}

// moveReferences stores what the references to t name after a change of it, unless the owner of their holder may not
// read t.
func (store *Store) moveReferences(ctx context.Context, previous, t *prompt.Template) error {
	isMoved := previous.Active.Version != t.Active.Version ||
		previous.FrozenVersions.Latest != t.FrozenVersions.Latest ||
		len(t.Activated) > 0
	if !isMoved || !t.Referenced {
		return nil
	}
	target := Referred(`prompt_references.ref`)
	_, err := store.Exec(ctx, `UPDATE prompt_references SET version_id = COALESCE((SELECT `+target+`
			FROM prompt_templates p WHERE p.id = prompt_references.prompt_id), '')
		WHERE prompt_id = ? AND EXISTS (SELECT 1 FROM prompt_templates p JOIN `+holders+` h
			ON h.id = prompt_references.holder_id WHERE p.id = prompt_references.prompt_id
			AND prompt_references.version_id <> `+target+` AND `+roleOn(`h.owner_id`)+` >= 1)`,
		append([]any{t.ID}, RoleArgs(t.UpdatedAt)...)...)
	return err
}

// lostReferences are the references r to prompts p of holders h that are in use and whose loss, or whose end, is not
// noted yet. Labels and versions of their own matter only for prompts that float.
var lostReferences = `prompt_references r JOIN prompt_templates p ON p.id = r.prompt_id AND p.deleted_at = 0
	JOIN ` + holders + ` h ON h.id = r.holder_id AND h.workspace_id = r.workspace_id AND h.deleted_at = 0
	WHERE (EXISTS (SELECT 1 FROM chat_templates c WHERE c.id = h.id
			AND (c.prompt_id = r.prompt_id AND c.prompt_ref = r.ref OR EXISTS (SELECT 1 FROM chat_versions cv
			WHERE cv.id = c.published_version_id AND cv.prompt_id = r.prompt_id AND cv.prompt_ref = r.ref)))
		OR EXISTS (SELECT 1 FROM prompt_templates o JOIN prompt_includes i ON i.template_id = o.id
			WHERE o.id = h.id AND o.include_mode = 'floating' AND i.target_id = r.prompt_id AND i.ref = r.ref
			AND (i.version_id = o.active_version_id
				OR EXISTS (SELECT 1 FROM prompt_labels pl WHERE pl.version_id = i.version_id))))
	AND (r.lost_at = 0) = (` + roleOn(`h.owner_id`) + ` < ` + roleFor(Referred(`r.ref`)) + `)`

// NoteReferences records which references lost their prompt since the last call, and which got it back. An error with
// one does not keep the others.
func (store *Store) NoteReferences(ctx context.Context, by identity.Actor) error {
	const batch = 100
	var errs []error
	var last prompt.Reference
	for {
		var rows []struct {
			Org       identity.OrgID       `db:"org_id"`
			Workspace identity.WorkspaceID `db:"workspace_id"`
			Holder    string               `db:"holder_id"`
			Owner     identity.UserID      `db:"owner_id"`
			Prompt    prompt.ID            `db:"prompt_id"`
			Ref       string               `db:"ref"`
			Lost      bool                 `db:"lost"`
		}
		if err := store.List(ctx, &rows, `SELECT (SELECT w.org_id FROM workspaces w WHERE w.id = r.workspace_id) AS org_id,
			r.workspace_id, r.holder_id, h.owner_id, r.prompt_id, r.ref, r.lost_at = 0 AS lost
			FROM `+lostReferences+` AND (r.holder_id, r.prompt_id, r.ref) > (?, ?, ?)
			ORDER BY r.holder_id, r.prompt_id, r.ref LIMIT ?`,
			append(RoleArgs(by.At), last.Holder, last.Template, last.Ref, batch)...); err != nil {
			return errors.Join(append(errs, err)...)
		}
		for _, row := range rows {
			by := identity.System(row.Org, row.Workspace, by.Request.ID, by.At)
			last = prompt.Reference{Holder: row.Holder, Template: row.Prompt, Ref: row.Ref}
			if err := store.inTx(ctx, func(tx *Store) error {
				return tx.NoteReference(ctx, by, last, row.Owner, row.Lost)
			}); err != nil {
				errs = append(errs, err)
			}
		}
		if len(rows) < batch {
			return errors.Join(errs...)
		}
	}
}

// NoteReference notes that a reference lost its prompt, or got it back. Another node may have done so meanwhile.
func (store *Store) NoteReference(
	ctx context.Context, by identity.Actor, r prompt.Reference, owner identity.UserID, lost bool,
) error {
	if !lost {
		_, err := store.Exec(ctx, `UPDATE prompt_references SET lost_at = 0, version_id = COALESCE((SELECT `+
			Referred(`prompt_references.ref`)+` FROM prompt_templates p WHERE p.id = prompt_references.prompt_id), '')
			WHERE holder_id = ? AND prompt_id = ? AND ref = ? AND lost_at <> 0`, r.Holder, r.Template, r.Ref)
		return err
	}
	count, err := store.Exec(ctx, `UPDATE prompt_references SET lost_at = ?
		WHERE holder_id = ? AND prompt_id = ? AND ref = ? AND lost_at = 0`, db.Micros(by.At), r.Holder, r.Template, r.Ref)
	if err != nil || count == 0 {
		return err
	}
	return store.Record(ctx, r.Lost(by, owner))
}

// maxRefs is the number of ways to refer to a version: its id, its number, ten labels, previous and latest.
const maxRefs = 14

// RefArgs returns maxRefs arguments, of which the last are repeated; nil for none.
func RefArgs(refs []string) []any {
	if len(refs) == 0 {
		return nil
	}
	args := make([]any, maxRefs)
	for i := range args {
		args[i] = refs[min(i, len(refs)-1)]
	}
	return args
}
