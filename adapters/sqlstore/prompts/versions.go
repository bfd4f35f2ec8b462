package prompts

import (
	"context"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// Lock implements ports.Prompts.
func (p *Prompts) Lock(
	ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
) (*prompt.Template, *prompt.VersionInfo, error) {
	return p.db.lockedVersion(ctx, by, id, ref)
}

// lockedVersion locks a template, and reads it with the version that ref names, or nil.
func (store *Store) lockedVersion(
	ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
) (*prompt.Template, *prompt.VersionInfo, error) {
	if err := store.lockTemplate(ctx, by, id); err != nil {
		return nil, nil, err
	}
	if ref.Latest { // which one that is depends on what by may see
		t, err := store.template(ctx, by, byID(by.Workspace, id))
		if err != nil {
			return nil, nil, err
		}
		ref = prompt.Ref{ID: t.LatestFor(by, ref)}
	}
	var row struct {
		templateRow
		Version versionInfoRow `db:"v"`
	}
	match, args := versionMatch(ref)
	key := byID(by.Workspace, id)
	found, err := store.Get(ctx, &row, `SELECT `+templateColumns+`, `+versionInfoColumns+templateTables+
		` LEFT JOIN prompt_versions v ON v.template_id = t.id AND `+match+` WHERE `+key.condition,
		slices.Concat([]any{by.User}, args, key.args)...)
	switch {
	case err != nil:
		return nil, nil, err
	case !found:
		return nil, nil, prompt.ErrNotFound
	}
	t, err := row.template(by)
	if err != nil || row.Version.ID == "" {
		return t, nil, err
	}
	v, err := row.Version.info()
	return t, &v, err
}

// UpdateVersion implements ports.Prompts.
func (p *Prompts) UpdateVersion(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
	change func(*prompt.Template, *prompt.VersionInfo) error) (*prompt.Template, error) {
	var t *prompt.Template
	err := p.db.inTx(ctx, func(tx *Store) error {
		var v *prompt.VersionInfo
		var err error
		if t, v, err = tx.lockedVersion(ctx, by, id, ref); err != nil {
			return err
		}
		previous, revision := *t, int64(0)
		if v != nil {
			revision = v.Revision
		}
		if err := change(t, v); err != nil {
			return err
		}
		var writes []db.Write
		switch {
		case v == nil:
		case v.Deleted:
			if err := tx.deleteVersion(ctx, t, v); err != nil {
				return err
			}
		case v.Revision != revision:
			writes = append(writes, versionInfoWrite(v))
		}
		return tx.saveTemplate(ctx, &previous, t, writes...)
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// EditVersion implements ports.Prompts.
func (p *Prompts) EditVersion(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
	change func(*prompt.Template, *prompt.Version, prompt.Labels) error) (*prompt.Template, error) {
	var t *prompt.Template
	err := p.db.inTx(ctx, func(tx *Store) error {
		var info *prompt.VersionInfo
		var err error
		if t, info, err = tx.lockedVersion(ctx, by, id, ref); err != nil {
			return err
		}
		labels, err := tx.labels(ctx, by.Workspace, id)
		if err != nil {
			return err
		}
		if info == nil {
			return change(t, nil, labels)
		}
		var row versionRow
		if _, err := tx.Get(ctx, &row, `SELECT `+versionColumns+` FROM prompt_versions v WHERE v.id = ?`,
			info.ID); err != nil {
			return err
		}
		v, err := row.version()
		if err != nil {
			return err
		}
		beforeT, previous := *t, *v
		if err := change(t, v, labels); err != nil {
			return err
		}
		if v.Revision != previous.Revision {
			if err := tx.saveVersion(ctx, &previous, v); err != nil {
				return err
			}
		}
		return tx.saveTemplate(ctx, &beforeT, t)
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// AddVersion implements ports.Prompts.
func (p *Prompts) AddVersion(ctx context.Context, by identity.Actor, id prompt.ID,
	change func(*prompt.Template, prompt.Labels) (*prompt.Version, error)) error {
	return p.db.inTx(ctx, func(tx *Store) error {
		t, err := tx.lockedTemplate(ctx, by, id)
		if err != nil {
			return err
		}
		labels, err := tx.labels(ctx, by.Workspace, id)
		if err != nil {
			return err
		}
		previous := *t
		v, err := change(t, labels)
		if err != nil {
			return err
		}
		content, err := contentArgs(v.Content)
		if err != nil {
			return err
		}
		args := append([]any{v.ID, v.Template, v.Number}, content...)
		if _, err := tx.Exec(ctx, `
			INSERT INTO prompt_versions (id, template_id, number, text, messages, format, variables, model_config,
			tools, response_format, search,
				content_hash, commit_message, frozen, first_activated_at, revision, created_by, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			append(args, v.Content.Searched(), v.ContentHash, v.CommitMessage, v.Frozen, db.Micros(v.FirstActivatedAt),
				v.Revision, v.CreatedBy, db.Micros(v.CreatedAt), db.Micros(v.UpdatedAt))...); err != nil {
			return err
		}
		if len(v.Labels) > 0 {
			if err := tx.saveLabels(ctx, &v.VersionInfo); err != nil {
				return err
			}
		}
		return tx.saveTemplate(ctx, &previous, t)
	})
}

// saveVersion writes what changed in a version since it was read.
func (store *Store) saveVersion(ctx context.Context, previous, v *prompt.Version) error {
	old, err := contentArgs(previous.Content)
	if err != nil {
		return err
	}
	content, err := contentArgs(v.Content)
	if err != nil {
		return err
	}
	save := versionInfoWrite(&v.VersionInfo)
	if !slices.Equal(old, content) {
		save = db.Write{Query: `
			UPDATE prompt_versions SET text = ?, messages = ?, format = ?, variables = ?, model_config = ?, tools = ?,
			response_format = ?, search = ?, content_hash = ?, edited_by = ?,
				commit_message = ?, frozen = ?, first_activated_at = ?, revision = ?, updated_at = ?
			WHERE id = ? AND template_id = ?`, Args: slices.Concat(content, []any{v.Content.Searched(), v.ContentHash,
			v.EditedBy}, save.Args)}
	}
	if err := store.Run(ctx, save); err != nil || slices.Equal(previous.Labels, v.Labels) {
		return err
	}
	return store.saveLabels(ctx, &v.VersionInfo)
}

// versionInfoWrite returns the write of what may change in a version except its content.
func versionInfoWrite(v *prompt.VersionInfo) db.Write {
	return db.Write{Query: `UPDATE prompt_versions SET commit_message = ?, frozen = ?, first_activated_at = ?,
		revision = ?, updated_at = ? WHERE id = ? AND template_id = ?`,
		Args: []any{v.CommitMessage, v.Frozen, db.Micros(v.FirstActivatedAt), v.Revision, db.Micros(v.UpdatedAt), v.ID,
			v.Template}}
}

// deleteVersion deletes a version, and sets t's counts of the others.
func (store *Store) deleteVersion(ctx context.Context, t *prompt.Template, v *prompt.VersionInfo) error {
	if _, err := store.Exec(ctx, `DELETE FROM prompt_versions WHERE id = ? AND template_id = ?`, v.ID,
		v.Template); err != nil {
		return err
	}
	var row struct {
		All    summaryRow `db:"a"`
		Frozen summaryRow `db:"f"`
	}
	_, err := store.Get(ctx, &row, `
		SELECT COUNT(*) AS "a.count", COALESCE(MAX(number), 0) AS "a.latest_number",
			COALESCE((SELECT id FROM prompt_versions WHERE template_id = ? ORDER BY number DESC
			LIMIT 1), '') AS "a.latest",
			COUNT(*) FILTER (WHERE frozen) AS "f.count", COALESCE(MAX(number) FILTER (WHERE frozen),
			0) AS "f.latest_number",
			COALESCE((SELECT id FROM prompt_versions WHERE template_id = ? AND frozen ORDER BY number DESC
			LIMIT 1), '') AS "f.latest"
		FROM prompt_versions WHERE template_id = ?`, t.ID, t.ID, t.ID)
	t.AllVersions, t.FrozenVersions = prompt.Summary(row.All), prompt.Summary(row.Frozen)
	return err
}

type summaryRow struct {
	Count        int              `db:"count"`
	Latest       prompt.VersionID `db:"latest"`
	LatestNumber int              `db:"latest_number"`
}

// labels reads a template's labels.
func (store *Store) labels(ctx context.Context, ws identity.WorkspaceID, id prompt.ID) (prompt.Labels, error) {
	var rows []struct {
		Label   string           `db:"label"`
		Version prompt.VersionID `db:"id"`
		Number  int              `db:"number"`
		By      identity.UserID  `db:"moved_by"`
	}
	if err := store.List(ctx, &rows, `SELECT l.label, v.id, v.number, COALESCE((SELECT m.moved_by FROM prompt_label_moves m
		WHERE m.template_id = l.template_id AND m.label = l.label ORDER BY m.number DESC LIMIT 1), '') AS moved_by
		FROM prompt_labels l JOIN prompt_versions v ON v.id = l.version_id WHERE l.template_id = ?`, id); err != nil {
		return nil, err
	}
	labels := make(prompt.Labels, len(rows))
	for _, row := range rows {
		labels[row.Label] = prompt.Labelled{Version: row.Version, Number: row.Number, By: row.By}
	}
	rollouts, err := store.rollouts(ctx, ws, id)
	for _, r := range rollouts {
		label := labels[r.Label]
		label.Rollout = &r
		labels[r.Label] = label
	}
	return labels, err
}

// saveLabels makes v's labels exactly v.Labels and removes them from other versions. Each version that loses a label
// gets a new revision.
func (store *Store) saveLabels(ctx context.Context, v *prompt.VersionInfo) error {
	if n := len(v.Labels); n > 0 {
		args := []any{db.Micros(v.UpdatedAt), v.Template, v.ID}
		for _, label := range v.Labels {
			args = append(args, label)
		}
		if _, err := store.Exec(ctx, `
			UPDATE prompt_versions SET revision = revision + 1, updated_at = ? WHERE id IN
				(SELECT version_id FROM prompt_labels WHERE template_id = ? AND version_id <> ?
				AND label IN (?`+strings.Repeat(`, ?`, n-1)+`))`, args...); err != nil {
			return err
		}
	}
	if _, err := store.Exec(ctx, `DELETE FROM prompt_labels WHERE version_id = ?`, v.ID); err != nil {
		return err
	}
	for _, label := range v.Labels {
		if _, err := store.Exec(ctx, `
			INSERT INTO prompt_labels (template_id, label, version_id) VALUES (?, ?, ?)
			ON CONFLICT (template_id, label) DO UPDATE
			SET version_id = excluded.version_id`, v.Template, label, v.ID); err != nil {
			return err
		}
	}
	return nil
}
