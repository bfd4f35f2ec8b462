// Package prompts holds the use cases of prompt templates.
package prompts

import (
	"context"
	"errors"
	"fmt"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// Service holds the use cases, one method each.
type Service struct {
	atomic   ports.Atomic
	prompts  ports.Prompts
	lists    ports.PromptLists
	feedback ports.PromptFeedback
	folders  ports.PromptFolders
	users    ports.Users
	quotas   ports.Quotas
}

// NewService returns the use cases on these stores.
func NewService(atomic ports.Atomic, s ports.PromptStores, u ports.Users, q ports.Quotas) *Service {
	return &Service{
		atomic: atomic, prompts: s.Prompts, lists: s.PromptLists, feedback: s.PromptFeedback, folders: s.PromptFolders,
		users: u, quotas: q,
	}
}

// List returns the templates that by may see.
func (s *Service) List(ctx context.Context, by identity.Actor, f prompt.Filter, q page.Query) (prompt.Page, error) {
	return s.lists.Visible(ctx, by, f, q)
}

// Create creates a template that by owns, with its first version unless first is nil. Errors in the fields of first
// point below /version.
func (s *Service) Create(
	ctx context.Context, by identity.Actor, d prompt.Draft, first *prompt.VersionDraft,
) (*prompt.Template, error) {
	t, err := prompt.New(by, d)
	if err != nil {
		return nil, err
	}
	if first != nil && first.Base != "" {
		return nil, fault.InField("/version/base_version_id", "not_allowed_value",
			"A new prompt template has no version to base this one on.")
	}
	return addWithinQuotas(ctx, s, by, func(tx ports.Stores) (*prompt.Template, []quota.Kind, error) {
		if err := tx.Prompts.Add(ctx, t); err != nil || first == nil {
			return t, []quota.Kind{quota.PromptTemplates, quota.StorageBytes}, err
		}
		added, err := addVersion(ctx, tx, by, t.ID, *first, newIncludeRoom())
		return added.template, []quota.Kind{quota.PromptTemplates, quota.PromptVersions, quota.StorageBytes},
			fault.PrefixPointers("/version", err)
	})
}

// Get returns a template.
func (s *Service) Get(ctx context.Context, by identity.Actor, id prompt.ID) (*prompt.Template, error) {
	t, err := s.prompts.Get(ctx, by, id)
	if err != nil {
		return nil, err
	}
	return t, t.Allow(by, access.Viewer)
}

// Change changes a template's own fields, or transfers it to another owner.
func (s *Service) Change(ctx context.Context, by identity.Actor, id prompt.ID, match revision.Match,
	c prompt.Changes) (*prompt.Template, error) {
	return addWithinQuotas(ctx, s, by, func(tx ports.Stores) (updated *prompt.Template, _ []quota.Kind, err error) {
		var previous struct {
			name string
			size int
		}
		change := func(t *prompt.Template, owner prompt.Recipient) error {
			previous.name, previous.size = t.Name, t.Size()
			return t.Change(by, match, c, owner)
		}
		if c.Owner != nil {
			updated, err = tx.Prompts.UpdateFor(ctx, by, id, *c.Owner, change)
		} else {
			updated, err = tx.Prompts.Update(ctx, by, id,
				func(t *prompt.Template) error { return change(t, prompt.Recipient{}) })
		}
		if err == nil {
			err = mayMove(ctx, tx, by, previous.name, updated)
		}
		if err == nil {
			err = settle(ctx, tx, by, updated)
		}
		if err != nil {
			return nil, nil, err
		}
		return updated, quotasOfGrowth(previous.size, updated.Size()), nil
	})
}

// Restore restores a deleted template.
func (s *Service) Restore(ctx context.Context, by identity.Actor, id prompt.ID) (*prompt.Template, error) {
	return addWithinQuotas(ctx, s, by, func(tx ports.Stores) (*prompt.Template, []quota.Kind, error) {
		t, err := tx.Prompts.Update(ctx, by, id, func(t *prompt.Template) error { return t.Restore(by) })
		return t, []quota.Kind{quota.PromptTemplates}, err
	})
}

// Versions lists the versions that by may see.
func (s *Service) Versions(
	ctx context.Context, by identity.Actor, id prompt.ID, q page.Query,
) (*prompt.Reading, prompt.VersionPage, error) {
	t, err := s.Get(ctx, by, id)
	if err != nil {
		return nil, prompt.VersionPage{}, err
	}
	found, err := s.lists.Versions(ctx, by.Workspace, id, t.SeesDrafts(by), q)
	if err != nil {
		return nil, prompt.VersionPage{}, err
	}
	return t.Reading(), found, s.countReads(ctx, by, id, found.Items)
}

// AddVersion creates the next version.
func (s *Service) AddVersion(ctx context.Context, by identity.Actor, id prompt.ID,
	d prompt.VersionDraft) (*prompt.Reading, *prompt.Version, error) {
	if d.Base != "" { // AddVersion below checks that it is the latest; this checks that it exists
		if err := mayBase(ctx, s.prompts, by, id, d.Base); err != nil {
			return nil, nil, err
		}
	}
	added, err := addWithinQuotas(ctx, s, by, func(tx ports.Stores) (addedVersion, []quota.Kind, error) {
		added, err := addVersion(ctx, tx, by, id, d, newIncludeRoom())
		if err == nil {
			err = released(ctx, tx, by, added.template, d.Acknowledged)
		}
		return added, []quota.Kind{quota.PromptVersions, quota.StorageBytes}, err
	})
	if err != nil {
		return nil, nil, err
	}
	return added.template.Reading(), added.version, nil
}

// mayBase returns nil if by may add a version to a template, and the version base exists.
func mayBase(
	ctx context.Context, stored ports.Prompts, by identity.Actor, id prompt.ID, base prompt.VersionID,
) error {
	t, err := stored.Get(ctx, by, id)
	if err != nil {
		return err
	}
	if err := t.Allow(by, access.Editor); err != nil {
		return err
	}
	ref := prompt.Ref{ID: base}
	reading, v, err := stored.GetVersion(ctx, by, id, ref)
	_, _, err = readable(by, ref, reading, v, err)
	return err
}

// Version returns the version that ref names.
func (s *Service) Version(
	ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
) (*prompt.Reading, *prompt.Version, error) {
	t, v, err := s.prompts.GetVersion(ctx, by, id, ref)
	return readable(by, ref, t, v, err)
}

// readable returns the version that a store found, if by may read it.
func readable(
	by identity.Actor, ref prompt.Ref, t *prompt.Reading, v *prompt.Version, err error,
) (*prompt.Reading, *prompt.Version, error) {
	if err != nil {
		return nil, nil, err
	}
	if err := t.Allow(by, ref, v); err != nil {
		return nil, nil, err
	}
	return t, v, nil
}

// ChangeVersion edits a draft's content, or any version's labels and commit message. It does not remove a label that a
// chat template or another prompt uses; moving a label from another version is allowed, since the label can still be
// resolved.
func (s *Service) ChangeVersion(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
	match revision.Match,
	c prompt.VersionChanges) (*prompt.Reading, *prompt.Version, error) {
	var edited struct {
		version        *prompt.Version
		previousSize   int
		previousLabels []string
	}
	reading, err := addWithinQuotas(ctx, s, by, func(tx ports.Stores) (*prompt.Reading, []quota.Kind, error) {
		t, err := tx.Prompts.EditVersion(ctx, by, id, ref,
			func(t *prompt.Template, v *prompt.Version, allLabels prompt.Labels) error {
				edited.version, edited.previousSize = v, v.Size()
				if v != nil {
					edited.previousLabels = v.Labels
				}
				return t.ChangeVersion(by, match, v, c, allLabels)
			})
		if err != nil {
			return nil, nil, err
		}
		kinds := quotasOfGrowth(edited.previousSize, edited.version.Size())
		if c.Content != nil {
			err = include(ctx, tx, by, id, edited.version, true, edited.version.Includes, newIncludeRoom())
		} else {
			var fullKinds []quota.Kind
			fullKinds, err = pin(ctx, tx, by, id, &edited.version.VersionInfo)
			kinds = append(kinds, fullKinds...)
		}
		if err == nil {
			err = released(ctx, tx, by, t, false)
		}
		if err != nil {
			return nil, nil, err
		}
		lost := prompt.RemovedLabels(edited.previousLabels, edited.version.Labels)
		if len(lost) > 0 { // unused treats no references as all
			err = unused(ctx, tx, by, id, lost)
		}
		return t.Reading(), kinds, err
	})
	if err != nil {
		return nil, nil, err
	}
	return reading, edited.version, nil
}

// DeleteVersion removes a version that is not active and that no chat template and no other prompt names.
func (s *Service) DeleteVersion(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
	match revision.Match) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		_, previous, err := tx.Prompts.Lock(ctx, by, id, prompt.Ref{Previous: true})
		if err != nil {
			return err
		}
		rollouts, err := tx.Prompts.Rollouts(ctx, by, id)
		if err != nil {
			return err
		}
		var refs []string
		t, err := tx.Prompts.UpdateVersion(ctx, by, id, ref, func(t *prompt.Template, v *prompt.VersionInfo) error {
			if err := t.DeleteVersion(by, match, v, rollouts); err != nil {
				return err
			}
			if refs = v.Refs(); previous != nil && v.ID == previous.ID {
				refs = append(refs, "previous")
			}
			if v.Frozen && t.FrozenVersions.Count == 1 { // chats read the latest released version
				refs = append(refs, "latest")
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := settle(ctx, tx, by, t); err != nil {
			return err
		}
		return unused(ctx, tx, by, id, refs)
	})
}

// Activations lists who activated what, when and why; if label is not empty, who gave it to which version.
func (s *Service) Activations(ctx context.Context, by identity.Actor, id prompt.ID, label string,
	q page.Query) (page.Of[prompt.Activation], error) {
	if _, err := s.Get(ctx, by, id); err != nil {
		return page.Of[prompt.Activation]{}, err
	}
	return s.lists.Activations(ctx, by.Workspace, id, label, q)
}

// Render fills the variables of the version that Resolved returns.
func (s *Service) Render(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref, key string,
	values map[string]any, mode prompt.Mode) (prompt.Rendered, *prompt.Reading, *prompt.Version, error) {
	t, v, err := s.Resolved(ctx, by, id, ref, key)
	if err != nil {
		return prompt.Rendered{}, nil, nil, err
	}
	out, err := v.Content.Render(values, mode)
	return out, t, v, err
}

// Wanted names a version of a template by the template's ID or Name.
type Wanted struct {
	ID   prompt.ID
	Name string
	Ref  prompt.Ref
	Key  string // of the reader, for rollouts; may be empty
}

// Resolved is the wanted version, or why there is none.
type Resolved struct {
	Template *prompt.Reading
	Version  *prompt.Version
	Rollout  *prompt.Rollout // of the wanted label, if it runs and Wanted has no key; or nil
	Err      error
}

// MaxResolvedBytes is the total size of the versions that one Resolve returns (prompt.Content.Size).
const MaxResolvedBytes = 8 << 20

// ErrResponseTooLarge is the error for a Resolve item that no longer fits in the response.
var ErrResponseTooLarge = &fault.Error{Kind: fault.TooLarge, Code: "response_too_large",
	Detail: "The versions before this one fill the response. Resolve this one in another request."}

// Resolve returns many versions at once, in the order of wanted, so that an application can start with
// one call. An item that by may not see, or that does not exist, has its own error and does not affect
// the others. Each version is read once, however often it is wanted. Once a version would exceed
// MaxResolvedBytes, nothing more is read: that item and those after it have ErrResponseTooLarge.
func (s *Service) Resolve(ctx context.Context, by identity.Actor, queries []Wanted) ([]Resolved, error) {
	var errs fault.Fields
	for i, w := range queries {
		if (w.ID == "") == (w.Name == "") {
			errs.Add(fmt.Sprintf("/refs/%d", i), "required", "Give either prompt_template_id or name.")
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	out, results, room := make([]Resolved, len(queries)), map[Wanted]Resolved{}, MaxResolvedBytes
	for i, w := range queries {
		if room < 0 {
			out[i].Err = ErrResponseTooLarge
			continue
		}
		found, ok := results[w]
		if !ok {
			found = s.findWanted(ctx, by, w)
			if found.Err != nil && !isRefusal(found.Err) {
				return nil, found.Err
			}
			results[w] = found
		}
		if found.Err == nil {
			if room -= found.Version.Content.Size(); room < 0 {
				found = Resolved{Err: ErrResponseTooLarge}
			}
		}
		out[i] = found
	}
	return out, nil
}

func (s *Service) findWanted(ctx context.Context, by identity.Actor, w Wanted) (out Resolved) {
	if w.ID != "" {
		out.Template, out.Version, out.Err = s.Resolved(ctx, by, w.ID, w.Ref, w.Key)
	} else {
		out.Template, out.Version, out.Err = s.ResolvedByName(ctx, by, w.Name, w.Ref, w.Key)
	}
	if out.Err == nil && w.Key == "" && w.Ref.Label != "" {
		var rollouts []prompt.Rollout
		rollouts, out.Err = s.prompts.Rollouts(ctx, by, out.Template.ID)
		out.Rollout = rolloutOf(rollouts, w.Ref.Label)
	}
	return out
}

// isRefusal reports whether err is a response to the caller, and not an outage.
func isRefusal(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return (ok && f.Kind == fault.NotFound) || isIncludeError(err)
}
