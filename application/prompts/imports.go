package prompts

import (
	"context"
	"errors"
	"slices"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// Export calls emit with the templates in a folder that by may see, by name, each with the version that ref names. It
// leaves out templates without such a version. The empty folder has all templates.
func (s *Service) Export(ctx context.Context, by identity.Actor, folder string, ref prompt.Ref,
	emit func(*prompt.Template, *prompt.Reading, *prompt.Version) error) error {
	for q := (page.Query{Limit: 100}); ; {
		found, err := s.lists.Visible(ctx, by, prompt.Filter{Folder: folder, ByName: true}, q)
		if err != nil {
			return err
		}
		for i := range found.Items {
			t := &found.Items[i]
			reading, v, err := s.Version(ctx, by, t.ID, ref)
			if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.NotFound {
				continue // deleted in the meantime, or it has no such version
			}
			if err != nil {
				return err
			}
			if err := emit(t, reading, v); err != nil {
				return err
			}
		}
		if q.After = found.Next; q.After == "" {
			return nil
		}
	}
}

// Import stores templates in one transaction: all of them or none. A template whose name is in use gets new versions,
// unless its latest version has the content of the last one. Errors in fields point below Imported.Pointer. The results
// are in the order of all.
func (s *Service) Import(
	ctx context.Context, by identity.Actor, all []prompt.Imported,
) ([]prompt.ImportResult, error) {
	order := prompt.InOrder(all)
	for _, p := range all {
		for i := range p.Versions {
			p.Versions[i].Check(p.Draft.Type)
		}
	}
	return addWithinQuotas(ctx, s, by, func(tx ports.Stores) ([]prompt.ImportResult, []quota.Kind, error) {
		results, room := make([]prompt.ImportResult, len(all)), newIncludeRoom()
		for _, i := range order {
			var err error
			if results[i], err = importOne(ctx, tx, by, all[i], room); err != nil {
				return nil, nil, prefixPointer(all[i].Pointer, err)
			}
		}
		return results, []quota.Kind{quota.PromptTemplates, quota.PromptVersions, quota.StorageBytes}, nil
	})
}

// prefixPointer returns err with pointer before its pointers, or before the detail if the error is not about fields.
func prefixPointer(pointer string, err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && len(f.Fields) == 0 {
		return f.Because(pointer + ": " + f.Detail)
	}
	return fault.PrefixPointers(pointer, err)
}

// importOne stores one template, or adds to the one with its name.
func importOne(
	ctx context.Context, tx ports.Stores, by identity.Actor, p prompt.Imported, room *includeRoom,
) (prompt.ImportResult, error) {
	reading, latest, err := tx.Prompts.GetVersionByName(ctx, by, p.Draft.Name, prompt.Ref{Latest: true})
	if errors.Is(err, prompt.ErrNotFound) {
		created, err := prompt.New(by, p.Draft)
		if err != nil {
			return prompt.ImportResult{}, err
		}
		current, err := addWith(ctx, tx, by, created, p.Versions, room)
		if err != nil {
			return prompt.ImportResult{}, err
		}
		return imported(current, prompt.Created), nil
	}
	if err != nil {
		return prompt.ImportResult{}, err
	}
	if !reading.IsVisible(by) {
		return prompt.ImportResult{}, prompt.ErrNameTaken
	}
	if reading.Type != p.Draft.Type {
		return prompt.ImportResult{}, fault.InField("/type", "not_allowed_value",
			"The prompt template with this name has the other type.")
	}
	return importInto(ctx, tx, by, reading.ID, latest, p, room)
}

// importInto adds versions, and changes of the description and the tags, to a template whose latest version is known.
func importInto(ctx context.Context, tx ports.Stores, by identity.Actor, id prompt.ID, latest *prompt.Version,
	p prompt.Imported, room *includeRoom) (prompt.ImportResult, error) {
	t, err := tx.Prompts.Update(ctx, by, id, func(t *prompt.Template) error {
		if t.Description == p.Draft.Description && slices.Equal(t.Tags, p.Draft.Tags) {
			return t.Allow(by, access.Editor)
		}
		return t.Change(by, nil, prompt.Changes{Description: &p.Draft.Description, Tags: &p.Draft.Tags},
			prompt.Recipient{})
	})
	if err != nil {
		return prompt.ImportResult{}, err
	}
	hash, err := p.Versions[len(p.Versions)-1].Hash(p.Draft.Type)
	if err != nil {
		return prompt.ImportResult{}, err
	}
	if latest != nil && latest.ContentHash == hash {
		return imported(t, prompt.Unchanged), nil
	}
	for _, d := range p.Versions {
		d.Copied = nil // the numbers of the template continue
		added, err := addVersion(ctx, tx, by, id, d, room)
		if err == nil {
			err = released(ctx, tx, by, added.template, false)
		}
		if err != nil {
			return prompt.ImportResult{}, err
		}
		t = added.template
	}
	return imported(t, prompt.Updated), nil
}

func imported(t *prompt.Template, o prompt.Outcome) prompt.ImportResult {
	return prompt.ImportResult{Name: t.Name, ID: t.ID, Number: t.AllVersions.LatestNumber, Outcome: o}
}
