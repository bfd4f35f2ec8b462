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

// errRehearsed undoes a dry run.
var errRehearsed = errors.New("the import was a dry run")

// Import stores templates in one transaction: all of them or none, unless o says to skip those that are refused. A
// template whose name is in use gets new versions, unless its latest version has the content of the last one. The error
// has all that is wrong with any of them.
func (s *Service) Import(
	ctx context.Context, by identity.Actor, all []prompt.Imported, o prompt.Importing,
) (prompt.ImportReport, error) {
	for i := range all {
		all[i].Check(o.Raw)
	}
	limits, err := s.quotas(ctx, by)
	if err != nil {
		return prompt.ImportReport{}, err
	}
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (prompt.ImportReport, error) {
		if !o.DryRun {
			return importAll(ctx, tx, by, all, limits, o)
		}
		var report prompt.ImportReport
		err := tx.Atomic.Try(ctx, func(tx ports.Stores) (err error) {
			if report, err = importAll(ctx, tx, by, all, limits, o); err != nil {
				return err
			}
			return errRehearsed
		})
		if errors.Is(err, errRehearsed) {
			err = nil
		}
		return report, err
	})
}

// importAll stores all templates that it can. It returns what is wrong with the others in the report, or as an error.
func importAll(ctx context.Context, tx ports.Stores, by identity.Actor, all []prompt.Imported, limits quota.Limits,
	o prompt.Importing) (report prompt.ImportReport, err error) {
	results, room := make([]*prompt.ImportResult, len(all)), newIncludeRoom()
	for _, i := range prompt.InOrder(all) {
		p := &all[i]
		err := p.Err
		if err == nil {
			err = tx.Atomic.Try(ctx, func(tx ports.Stores) error {
				result, err := importOne(ctx, tx, by, *p, room)
				results[i] = &result
				return p.Refer("", err)
			})
		}
		if _, isRefusal := errors.AsType[*fault.Error](err); err != nil && (!isRefusal || *room < 0) {
			return report, err // reading more would take too long
		}
		if err != nil {
			results[i] = nil
			report.Refused = append(report.Refused, prompt.Refusal{Imported: *p, Err: err})
		}
	}
	if len(report.Refused) > 0 && !o.Skip {
		return report, prompt.JoinRefusals(report.Refused)
	}
	for _, result := range results {
		if result != nil {
			report.Results = append(report.Results, *result)
		}
	}
	return report, tx.CheckUsage(ctx, by, limits, quota.PromptTemplates, quota.PromptVersions, quota.StorageBytes)
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
