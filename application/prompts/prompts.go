// Package prompts is what callers can do with prompt templates.
package prompts

import (
	"context"
	"errors"
	"fmt"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// Service holds the use cases, one method each.
type Service struct {
	prompts ports.Prompts
	lists   ports.PromptLists
	users   ports.Users
}

// NewService returns the use cases on these stores.
func NewService(p ports.Prompts, l ports.PromptLists, u ports.Users) *Service {
	return &Service{prompts: p, lists: l, users: u}
}

// List returns the templates that by may see.
func (s *Service) List(ctx context.Context, by identity.Actor, f prompt.Filter, q page.Query) (prompt.Page, error) {
	return s.lists.Visible(ctx, by, f, q)
}

// Create makes a template that belongs to by.
func (s *Service) Create(ctx context.Context, by identity.Actor, d prompt.Draft) (*prompt.Template, error) {
	t, err := prompt.New(by, d)
	if err != nil {
		return nil, err
	}
	return t, s.prompts.Add(ctx, t)
}

// Get returns a template.
func (s *Service) Get(ctx context.Context, by identity.Actor, id prompt.ID) (*prompt.Template, error) {
	t, err := s.prompts.Get(ctx, by, id)
	if err != nil {
		return nil, err
	}
	return t, t.Allow(by, prompt.View)
}

// Change changes a template's own fields, or hands it to another owner.
func (s *Service) Change(ctx context.Context, by identity.Actor, id prompt.ID, at revision.Match, c prompt.Changes) (*prompt.Template, error) {
	var also []identity.UserID
	isMember := false
	if c.Owner != nil {
		member, err := s.users.Member(ctx, by.Workspace, *c.Owner, "")
		if err != nil {
			return nil, err
		}
		also, isMember = []identity.UserID{*c.Owner}, member != ""
	}
	return s.prompts.Update(ctx, by, id, also, func(t *prompt.Template) error {
		return t.Change(by, at, c, isMember)
	})
}

// Delete hides a template; Restore brings it back.
func (s *Service) Delete(ctx context.Context, by identity.Actor, id prompt.ID, at revision.Match) error {
	_, err := s.prompts.Update(ctx, by, id, nil, func(t *prompt.Template) error { return t.Delete(by, at) })
	return err
}

// Restore brings a deleted template back.
func (s *Service) Restore(ctx context.Context, by identity.Actor, id prompt.ID) (*prompt.Template, error) {
	return s.prompts.Update(ctx, by, id, nil, func(t *prompt.Template) error { return t.Restore(by) })
}

// Versions lists the versions that by may see.
func (s *Service) Versions(ctx context.Context, by identity.Actor, id prompt.ID, q page.Query) (*prompt.Template, prompt.VersionPage, error) {
	t, err := s.Get(ctx, by, id)
	if err != nil {
		return nil, prompt.VersionPage{}, err
	}
	found, err := s.lists.Versions(ctx, by.Workspace, id, t.SeesDrafts(by), q)
	return t, found, err
}

// AddVersion makes the next version.
func (s *Service) AddVersion(ctx context.Context, by identity.Actor, id prompt.ID, d prompt.VersionDraft) (of *prompt.Template, v *prompt.Version, err error) {
	err = s.prompts.AddVersion(ctx, by, id, func(t *prompt.Template) (*prompt.Version, error) {
		of = t
		v, err = t.AddVersion(by, d)
		return v, err
	})
	return of, v, err
}

// Version returns the version that ref names.
func (s *Service) Version(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref) (*prompt.Template, *prompt.Version, error) {
	t, v, err := s.prompts.GetVersion(ctx, by, id, ref)
	if err != nil {
		return nil, nil, err
	}
	if err := t.Allow(by, prompt.View); err != nil {
		return nil, nil, err
	}
	if !t.Has(by, v) {
		return nil, nil, prompt.ErrVersionNotFound
	}
	return t, v, nil
}

// ChangeVersion edits a draft's content, or any version's labels and commit message.
func (s *Service) ChangeVersion(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref, at revision.Match, c prompt.VersionChanges) (t *prompt.Template, changed *prompt.Version, err error) {
	t, err = s.prompts.UpdateWith(ctx, by, id, ref, func(t *prompt.Template, v *prompt.Version) error {
		changed = v
		return t.ChangeVersion(by, at, v, c)
	})
	return t, changed, err
}

// DeleteVersion removes a version that is not active.
func (s *Service) DeleteVersion(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref, at revision.Match) error {
	_, err := s.prompts.UpdateWith(ctx, by, id, ref, func(t *prompt.Template, v *prompt.Version) error {
		return t.DeleteVersion(by, at, v)
	})
	return err
}

// ActivateVersion makes one version of a template the one that callers receive.
func (s *Service) ActivateVersion(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref, at revision.Match, expected *prompt.VersionID, reason string) (*prompt.Template, error) {
	return s.prompts.UpdateWith(ctx, by, id, ref, func(t *prompt.Template, v *prompt.Version) error {
		return t.Activate(by, at, v, expected, reason)
	})
}

// Activations lists who activated what, when and why.
func (s *Service) Activations(ctx context.Context, by identity.Actor, id prompt.ID, q page.Query) (page.Of[prompt.Activation], error) {
	if _, err := s.Get(ctx, by, id); err != nil {
		return page.Of[prompt.Activation]{}, err
	}
	return s.lists.Activations(ctx, by.Workspace, id, q)
}

// Render fills a version's variables.
func (s *Service) Render(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref, values map[string]any, mode prompt.Mode) (prompt.Rendered, *prompt.Template, *prompt.Version, error) {
	t, v, err := s.Version(ctx, by, id, ref)
	if err != nil {
		return prompt.Rendered{}, nil, nil, err
	}
	out, err := v.Content.Render(values, mode)
	return out, t, v, err
}

// Diff compares a version with another one of the same template.
func (s *Service) Diff(ctx context.Context, by identity.Actor, id prompt.ID, against, ref prompt.Ref) (from, to *prompt.Version, d prompt.Difference, err error) {
	if _, to, err = s.Version(ctx, by, id, ref); err != nil {
		return nil, nil, prompt.Difference{}, err
	}
	if _, from, err = s.Version(ctx, by, id, against); err != nil {
		return nil, nil, prompt.Difference{}, err
	}
	return from, to, prompt.Diff(from, to), nil
}

// Wanted names a version of a template, which is named by ID or else by Name.
type Wanted struct {
	ID   prompt.ID
	Name string
	Ref  prompt.Ref
}

// Resolved is the version that was wanted, or why there is none.
type Resolved struct {
	Template *prompt.Template
	Version  *prompt.Version
	Err      error
}

// Resolve answers many versions at once, in the order of wanted: one call warms up an application.
// What by may not see, or does not exist, is that item's error and nobody else's.
func (s *Service) Resolve(ctx context.Context, by identity.Actor, wanted []Wanted) ([]Resolved, error) {
	var wrong []fault.Field
	for i, w := range wanted {
		if (w.ID == "") == (w.Name == "") {
			wrong = append(wrong, fault.Field{Pointer: fmt.Sprintf("/refs/%d", i), Code: "required", Detail: "Give either prompt_template_id or name."})
		}
	}
	if err := fault.InvalidFields(wrong); err != nil {
		return nil, err
	}
	out := make([]Resolved, len(wanted))
	for i, w := range wanted {
		if w.ID == "" {
			t, err := s.prompts.FindByName(ctx, by, w.Name)
			if err != nil && !isRefusal(err) {
				return nil, err
			}
			if err != nil {
				out[i].Err = err
				continue
			}
			w.ID = t.ID
		}
		out[i].Template, out[i].Version, out[i].Err = s.Version(ctx, by, w.ID, w.Ref)
		if err := out[i].Err; err != nil && !isRefusal(err) {
			return nil, err
		}
	}
	return out, nil
}

// isRefusal reports whether err is an answer to the caller, and not an outage.
func isRefusal(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Kind == fault.NotFound
}

// Shares lists whom a template is shared with.
func (s *Service) Shares(ctx context.Context, by identity.Actor, id prompt.ID, q page.Query) (prompt.SharePage, error) {
	t, err := s.prompts.Get(ctx, by, id)
	if err != nil {
		return prompt.SharePage{}, err
	}
	if err := t.Allow(by, prompt.Manage); err != nil {
		return prompt.SharePage{}, err
	}
	return s.lists.Shares(ctx, by.Workspace, id, q)
}

// Share gives a member of the workspace access.
func (s *Service) Share(ctx context.Context, by identity.Actor, id prompt.ID, g prompt.Grant) (prompt.Share, error) {
	user, err := s.users.Member(ctx, by.Workspace, g.User, g.Email)
	if err != nil {
		return prompt.Share{}, err
	}
	return s.changeShare(ctx, by, id, user, func(t *prompt.Template) (prompt.Share, error) { return t.Share(by, user, g) })
}

// ChangeShare changes what a user was given.
func (s *Service) ChangeShare(ctx context.Context, by identity.Actor, id prompt.ID, user identity.UserID, at revision.Match, c prompt.ShareChanges) (prompt.Share, error) {
	return s.changeShare(ctx, by, id, user, func(t *prompt.Template) (prompt.Share, error) { return t.ChangeShare(by, at, user, c) })
}

// Unshare takes a user's share away.
func (s *Service) Unshare(ctx context.Context, by identity.Actor, id prompt.ID, user identity.UserID, at revision.Match) error {
	_, err := s.changeShare(ctx, by, id, user, func(t *prompt.Template) (prompt.Share, error) {
		return prompt.Share{}, t.Unshare(by, at, user)
	})
	return err
}

func (s *Service) changeShare(ctx context.Context, by identity.Actor, id prompt.ID, user identity.UserID, change func(*prompt.Template) (prompt.Share, error)) (share prompt.Share, err error) {
	_, err = s.prompts.Update(ctx, by, id, []identity.UserID{user}, func(t *prompt.Template) error {
		share, err = change(t)
		return err
	})
	return share, err
}
