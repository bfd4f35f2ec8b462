package prompts

import (
	"context"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// saveTemplate writes what changed in a locked template since it was read, if it recorded an event. others are writes
// of objects that belong to it.
func (store *Store) saveTemplate(ctx context.Context, previous, t *prompt.Template, others ...db.Write) error {
	if len(t.Recorded()) == 0 {
		return store.saveBelongings(ctx, t)
	}
	if live := t.DeletedAt.IsZero(); live && (t.Name != previous.Name || !previous.DeletedAt.IsZero()) {
		if err := store.nameIsFree(ctx, t); err != nil {
			return err
		}
	}
	writes := slices.Concat(others, templateWrites(previous, t))
	for _, a := range t.Activated {
		if a.Label == "" {
			writes = append(writes, activationWrite(t.ID, a))
		} else {
			move, err := labelMoveWrite(t.ID, a)
			if err != nil {
				return err
			}
			writes = append(writes, move)
		}
	}
	events, err := store.EventWrites(t.RecordedAt(t.Revision, string(t.ID)))
	if err != nil {
		return err
	}
	if err := store.Run(ctx, slices.Concat(writes, events)...); err != nil {
		return store.nameTaken(err)
	}
	if err := store.moveReferences(ctx, previous, t); err != nil {
		return err
	}
	return store.saveBelongings(ctx, t)
}

// templateWrites returns the write of a template's row, if it changed. The wide columns are written only if one of them
// changed.
func templateWrites(previous, t *prompt.Template) []db.Write {
	fields, state := templateFields(t), templateState(t)
	key := []any{t.ID, t.Workspace}
	switch {
	case !slices.Equal(fields, templateFields(previous)):
		return []db.Write{{Query: `
			UPDATE prompt_templates SET owner_id = ?, name = ?, name_key = ?, description = ?, tags = ?, metadata = ?,
			visibility = ?, protected = ?, search = ?, compatibility = ?, include_mode = ?, approvals = ?,
				required_checks = ?, check_thresholds = ?, gated_labels = ?, protected_labels = ?,
				active_version_id = ?, active_number = ?, activated_at = ?, activated_by = ?,
				last_number = ?, version_count = ?, latest_version_id = ?, latest_number = ?, frozen_count = ?,
				latest_frozen_id = ?, latest_frozen_number = ?, open_requests = ?, revision = ?,
				updated_at = ?, deleted_at = ?
			WHERE id = ? AND workspace_id = ?`, Args: slices.Concat(fields, state, key)}}
	case !slices.Equal(state, templateState(previous)):
		return []db.Write{{Query: `
			UPDATE prompt_templates SET active_version_id = ?, active_number = ?, activated_at = ?, activated_by = ?,
			last_number = ?,
				version_count = ?, latest_version_id = ?, latest_number = ?, frozen_count = ?, latest_frozen_id = ?,
				latest_frozen_number = ?, open_requests = ?, revision = ?, updated_at = ?, deleted_at = ?
			WHERE id = ? AND workspace_id = ?`, Args: slices.Concat(state, key)}}
	}
	return nil
}

// templateFields returns the values of the columns that people enter.
func templateFields(t *prompt.Template) []any {
	return []any{t.Owner, t.Name, prompt.NameKey(t.Name), t.Description, tagList(t.Tags), string(t.Metadata),
		t.Visibility, t.Protected, searchText(t), t.Compatibility, t.IncludeMode, t.Approvals,
		strings.Join(t.RequiredChecks, ","), thresholdsText(t.Thresholds), strings.Join(t.GatedLabels, ","),
		strings.Join(t.ProtectedLabels, ",")}
}

// templateState returns the values of the columns that follow from operations.
func templateState(t *prompt.Template) []any {
	all, released := t.AllVersions, t.FrozenVersions
	return []any{
		t.Active.Version, t.Active.Number, db.Micros(t.Active.At), t.Active.By, t.LastNumber,
		all.Count, all.Latest, all.LatestNumber, released.Count, released.Latest, released.LatestNumber,
		t.OpenRequests, t.Revision, db.Micros(t.UpdatedAt), db.Micros(t.DeletedAt),
	}
}

// activationWrite returns the write of an entry in the ledger. The template's row is locked, so that numbers have no
// gaps.
func activationWrite(id prompt.ID, a prompt.Activation) db.Write {
	return db.Write{Query: `
		INSERT INTO prompt_activations (template_id, number, from_version_id, from_number, to_version_id, to_number,
		activated_by, activated_at, reason, request_id)
		SELECT CAST(? AS TEXT), COALESCE(MAX(number), 0) + 1, CAST(? AS TEXT), CAST(? AS INTEGER), CAST(? AS TEXT),
		CAST(? AS INTEGER), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS TEXT)
		FROM prompt_activations WHERE template_id = ?`,
		Args: []any{id, a.From, a.FromNumber, a.To, a.ToNumber, a.By, db.Micros(a.At), a.Reason, a.Request, id}}
}

// labelMoveWrite is activationWrite for the move of a label. Each label has its own numbers.
func labelMoveWrite(id prompt.ID, a prompt.Activation) (db.Write, error) {
	weights, err := db.JSONText(a.Weights, len(a.Weights) == 0)
	return db.Write{Query: `
		INSERT INTO prompt_label_moves (template_id, label, number, from_version_id, from_number, to_version_id,
		to_number, moved_by, moved_at, reason, weights, request_id)
		SELECT CAST(? AS TEXT), CAST(? AS TEXT), COALESCE(MAX(number), 0) + 1, CAST(? AS TEXT), CAST(? AS INTEGER),
		CAST(? AS TEXT), CAST(? AS INTEGER), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS TEXT),
		CAST(? AS TEXT)
		FROM prompt_label_moves WHERE template_id = ? AND label = ?`,
		Args: []any{id, a.Label, a.From, a.FromNumber, a.To, a.ToNumber, a.By, db.Micros(a.At), a.Reason, weights,
			a.Request, id, a.Label}}, err
}

const nameIndex = "prompt_templates_name"

// nameIsFree detects a duplicate name before the write. After a violation PostgreSQL aborts the
// transaction, and SQLite does not say which index was violated.
func (store *Store) nameIsFree(ctx context.Context, t *prompt.Template) error {
	var other string
	found, err := store.Get(ctx, &other, `SELECT id FROM prompt_templates WHERE workspace_id = ? AND name_key = ?
		AND deleted_at = 0 AND id <> ?`,
		t.Workspace, prompt.NameKey(t.Name), t.ID)
	if found {
		return prompt.ErrNameTaken
	}
	return err
}

// nameTaken returns prompt.ErrNameTaken for the race that nameIsFree cannot detect, and any other error unchanged.
func (store *Store) nameTaken(err error) error {
	if store.Dialect.Duplicate(err, nameIndex) {
		return prompt.ErrNameTaken
	}
	return err
}

// recipient reads a user's share of a template, name and address, and the number of the template's shares.
func (store *Store) recipient(ctx context.Context, id prompt.ID, user identity.UserID) (prompt.Recipient, error) {
	r := prompt.Recipient{User: user}
	var current struct {
		Shares int    `db:"shares"`
		Name   string `db:"name"`
		Email  string `db:"email"`
	}
	if _, err := store.Get(ctx, &current, `SELECT (SELECT COUNT(*) FROM prompt_shares WHERE template_id = ?) AS shares,
		COALESCE((SELECT name FROM user_groups WHERE id = ?), (SELECT name FROM users WHERE id = ?), '') AS name,
		COALESCE((SELECT email FROM users WHERE id = ?), '') AS email`, id, user, user, user); err != nil {
		return r, err
	}
	r.Shares, r.Name, r.Email = current.Shares, current.Name, current.Email
	var row shareRow
	found, err := store.Get(ctx, &row, `SELECT `+shareColumns+shareTables+` WHERE s.template_id = ? AND s.user_id = ?`,
		id, user)
	if found {
		s := row.share()
		r.Share = &s
	}
	return r, err
}

// saveBelongings writes the changed rollouts, requests, checks and shares of t.
func (store *Store) saveBelongings(ctx context.Context, t *prompt.Template) error {
	for _, r := range t.ChangedRollouts {
		if err := store.saveRollout(ctx, t.ID, r); err != nil {
			return err
		}
	}
	for _, r := range t.ChangedRequests {
		if err := store.saveRequest(ctx, r); err != nil {
			return err
		}
	}
	for _, c := range t.Reported {
		if err := store.saveCheck(ctx, c); err != nil {
			return err
		}
	}
	for _, s := range t.ChangedShares {
		if err := store.saveShare(ctx, t, s); err != nil {
			return err
		}
	}
	return nil
}
