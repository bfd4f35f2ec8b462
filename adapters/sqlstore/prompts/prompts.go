package prompts

import (
	"context"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// Add implements ports.Prompts.
func (p *Prompts) Add(ctx context.Context, t *prompt.Template) error {
	return p.db.inTx(ctx, func(tx *Store) error {
		if err := tx.nameIsFree(ctx, t); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO prompt_templates (id, workspace_id, owner_id, name, name_key, type, description, tags, metadata,
			visibility, protected, search, compatibility, include_mode, approvals, required_checks,
				check_thresholds, gated_labels, protected_labels, active_version_id, active_number, activated_at,
				activated_by, last_number, revision, created_at, created_by, updated_at, deleted_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', 0, 0, '', 0, ?, ?, ?, ?, 0)`,
			t.ID, t.Workspace, t.Owner, t.Name, prompt.NameKey(t.Name), t.Type, t.Description, tagList(t.Tags),
			string(t.Metadata), t.Visibility, t.Protected, searchText(t), t.Compatibility, t.IncludeMode,
			t.Approvals, strings.Join(t.RequiredChecks, ","), thresholdsText(t.Thresholds),
			strings.Join(t.GatedLabels, ","), strings.Join(t.ProtectedLabels, ","), t.Revision, db.Micros(t.CreatedAt),
			t.CreatedBy, db.Micros(t.UpdatedAt))
		if err == nil {
			err = tx.Record(ctx, t.RecordedAt(t.Revision, string(t.ID)))
		}
		return tx.nameTaken(err)
	})
}

// Get implements ports.Prompts.
func (p *Prompts) Get(ctx context.Context, by identity.Actor, id prompt.ID) (*prompt.Template, error) {
	return p.db.template(ctx, by, byID(by.Workspace, id))
}

// Update implements ports.Prompts.
func (p *Prompts) Update(ctx context.Context, by identity.Actor, id prompt.ID,
	change func(*prompt.Template) error) (*prompt.Template, error) {
	var t *prompt.Template
	err := p.db.inTx(ctx, func(tx *Store) (err error) {
		if t, err = tx.lockedTemplate(ctx, by, id); err != nil {
			return err
		}
		previous := *t
		if err := change(t); err != nil {
			return err
		}
		return tx.saveTemplate(ctx, &previous, t)
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// UpdateFor implements ports.Prompts.
func (p *Prompts) UpdateFor(ctx context.Context, by identity.Actor, id prompt.ID, user identity.UserID,
	change func(*prompt.Template, prompt.Recipient) error) (*prompt.Template, error) {
	var t *prompt.Template
	err := p.db.inTx(ctx, func(tx *Store) error {
		members, err := tx.MembersOf(ctx, by.Workspace, []identity.UserID{user})
		if err != nil {
			return err
		}
		if t, err = tx.lockedTemplate(ctx, by, id); err != nil {
			return err
		}
		recipient, err := tx.recipient(ctx, id, user)
		if err != nil {
			return err
		}
		recipient.InWorkspace = members[user]
		previous := *t
		if err := change(t, recipient); err != nil {
			return err
		}
		return tx.saveTemplate(ctx, &previous, t)
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}
