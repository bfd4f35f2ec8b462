package prompts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// WriteVersion creates the next version of the template with a name, or the template if the name is free, which
// by owns. prompt.ErrNameTaken if by may not see the template.
func (s *Service) WriteVersion(ctx context.Context, by identity.Actor, name string, visibility access.Visibility,
	d prompt.VersionDraft) (*prompt.Reading, *prompt.Version, error) {
	added, err := addWithinQuotas(ctx, s, by, func(tx ports.Stores) (addedVersion, []quota.Kind, error) {
		kinds := []quota.Kind{quota.PromptVersions, quota.StorageBytes}
		id, isNew, err := findOrCreate(ctx, tx, by, prompt.Draft{Name: name, Type: d.Type(), Visibility: visibility})
		switch {
		case err != nil:
			return addedVersion{}, nil, err
		case isNew && d.Base != "":
			return addedVersion{}, nil, fault.InField("/base_version_id", "not_allowed_value",
				"There is no prompt template with this name yet, so no version to base this one on.")
		case isNew:
			kinds = append(kinds, quota.PromptTemplates)
		case d.Base != "":
			if err := mayBase(ctx, tx.Prompts, by, id, d.Base); err != nil {
				return addedVersion{}, nil, err
			}
		}
		added, err := addVersion(ctx, tx, by, id, d, newIncludeRoom())
		if err == nil {
			err = released(ctx, tx, by, added.template, d.Acknowledged)
		}
		return added, kinds, err
	})
	if err != nil {
		return nil, nil, err
	}
	return added.template.Reading(), added.version, nil
}

// findOrCreate returns the template with d's name. It creates the template if no one has the name.
func findOrCreate(ctx context.Context, tx ports.Stores, by identity.Actor, d prompt.Draft) (id prompt.ID, isNew bool,
	err error) {
	find := func() (prompt.ID, error) {
		reading, _, err := tx.Prompts.GetVersionByName(ctx, by, d.Name, prompt.Ref{})
		if err != nil {
			return "", err
		}
		if !reading.IsVisible(by) {
			return "", prompt.ErrNameTaken
		}
		return reading.ID, nil
	}
	if id, err = find(); !errors.Is(err, prompt.ErrNotFound) {
		return id, false, err
	}
	t, err := prompt.New(by, d)
	if err != nil {
		return "", false, err
	}
	err = tx.Atomic.Try(ctx, func(tx ports.Stores) error { return tx.Prompts.Add(ctx, t) })
	if errors.Is(err, prompt.ErrNameTaken) { // by a call at the same time
		id, err = find()
		return id, false, err
	}
	return t.ID, true, err
}
