package prompts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// holders are the templates that refer to prompts.
const holders = `(SELECT id, workspace_id, owner_id, deleted_at FROM chat_templates
	UNION ALL SELECT id, workspace_id, owner_id, deleted_at FROM prompt_templates)`

// referenceQuery reads the version that a reference names, the version that it named when its owner last could read it,
// and whether the owner still can. It names the table of the holder: looking in both takes several times as long.
var referenceQuery = map[bool]string{false: referenceIn(`chat_templates`), true: referenceIn(`prompt_templates`)}

func referenceIn(holders string) string {
	return `SELECT q.named, q.kept, q.role >= ` + db.RoleToReadVersion(`q.named`) + ` AS readable FROM (
		SELECT ` + db.RoleOnPrompt(`h.owner_id`) + ` AS role, ` + db.ReferredVersion(`n.ref`) + ` AS named,
			COALESCE(r.version_id, '') AS kept
		FROM (SELECT CAST(? AS TEXT) AS ref) n
		JOIN ` + holders + ` h ON h.id = ?
		JOIN prompt_templates p ON p.id = ? AND p.workspace_id = h.workspace_id
		LEFT JOIN prompt_references r ON r.holder_id = h.id AND r.prompt_id = p.id AND r.ref = n.ref
		WHERE h.workspace_id = ?) q`
}

// Referenced implements ports.Prompts. One statement finds both the right and the version: between two statements the
// right could be lost, and a version from after the loss could be returned.
func (p *Prompts) Referenced(
	ctx context.Context, by identity.Actor, r prompt.Reference,
) (reading *prompt.Reading, v *prompt.Version, lost bool, err error) {
	var row struct {
		Named    prompt.VersionID `db:"named"`
		Kept     prompt.VersionID `db:"kept"`
		Readable bool             `db:"readable"`
	}
	found, err := p.db.Get(ctx, &row, referenceQuery[r.InPrompt()],
		append(db.RoleOnPromptArgs(by.At), r.Ref, r.Holder, r.Template, by.Workspace)...)
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
	if v != nil && !row.Readable && !v.Frozen { // its text may have changed since
		v = nil
	}
	return reading, v, !row.Readable, err
}

// moveReferences stores the versions that references to t name after t has changed, unless their holder's owner may not
// read t.
func (store *Store) moveReferences(ctx context.Context, previous, t *prompt.Template) error {
	isMoved := previous.Active.Version != t.Active.Version ||
		previous.FrozenVersions.Latest != t.FrozenVersions.Latest ||
		len(t.Activated) > 0
	if !isMoved || !t.Referenced {
		return nil
	}
	target := db.ReferredVersion(`prompt_references.ref`)
	_, err := store.Exec(ctx, `UPDATE prompt_references SET version_id = COALESCE((SELECT `+target+`
			FROM prompt_templates p WHERE p.id = prompt_references.prompt_id), '')
		WHERE prompt_id = ? AND EXISTS (SELECT 1 FROM prompt_templates p JOIN `+holders+` h
			ON h.id = prompt_references.holder_id WHERE p.id = prompt_references.prompt_id
			AND prompt_references.version_id <> `+target+` AND `+db.RoleOnPrompt(`h.owner_id`)+` >= 1)`,
		append([]any{t.ID}, db.RoleOnPromptArgs(t.UpdatedAt)...)...)
	return err
}

// lostReferences are the references r from holders h to prompts p that are in use and whose loss, or return, is not
// noted yet. A prompt's own labels and versions matter only if its includes float.
var lostReferences = `prompt_references r JOIN prompt_templates p ON p.id = r.prompt_id AND p.deleted_at = 0
	JOIN ` + holders + ` h ON h.id = r.holder_id AND h.workspace_id = r.workspace_id AND h.deleted_at = 0
	WHERE (EXISTS (SELECT 1 FROM chat_templates c WHERE c.id = h.id
			AND (c.prompt_id = r.prompt_id AND c.prompt_ref = r.ref OR EXISTS (SELECT 1 FROM chat_versions cv
			WHERE cv.id = c.published_version_id AND cv.prompt_id = r.prompt_id AND cv.prompt_ref = r.ref)))
		OR EXISTS (SELECT 1 FROM prompt_templates o JOIN prompt_includes i ON i.template_id = o.id
			WHERE o.id = h.id AND o.include_mode = 'floating' AND i.target_id = r.prompt_id AND i.ref = r.ref
			AND (i.version_id = o.active_version_id
				OR EXISTS (SELECT 1 FROM prompt_labels pl WHERE pl.version_id = i.version_id))))
	AND (r.lost_at = 0) = (` + db.RoleOnPrompt(`h.owner_id`) + ` < ` +
	db.RoleToReadVersion(db.ReferredVersion(`r.ref`)) + `)`

// NoteReferences records which references lost their prompt since the last call, and which got it back. An error with
// one reference does not stop the others.
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
			append(db.RoleOnPromptArgs(by.At), last.Holder, last.Template, last.Ref, batch)...); err != nil {
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

// NoteReference notes that a reference lost its prompt, or got it back. Nothing happens if another node has noted it
// first.
func (store *Store) NoteReference(
	ctx context.Context, by identity.Actor, r prompt.Reference, owner identity.UserID, lost bool,
) error {
	if !lost {
		_, err := store.Exec(ctx, `UPDATE prompt_references SET lost_at = 0, version_id = COALESCE((SELECT `+
			db.ReferredVersion(`prompt_references.ref`)+` FROM prompt_templates p WHERE p.id = prompt_references.prompt_id), '')
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
