package prompts

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

const (
	maxCopied      = 200     // versions
	maxCopiedBytes = 8 << 20 // of all versions (prompt.Content.Size)
)

// Errors of Copy.
var (
	ErrCopyTooLarge = &fault.Error{Kind: fault.Conflict, Code: "copy_too_large",
		Detail: "The prompt template has more than 200 versions or 8 MiB. Copy it with history latest."}
	ErrOtherWorkspace = &fault.Error{Kind: fault.Forbidden, Code: "forbidden",
		Detail: "An API key can copy only within its workspace."}
)

// Copy creates a template like another one, with the versions that by may see: their labels, and the active one. by
// owns the copy, and commit messages name the authors. It returns the actor whose workspace has the copy.
func (s *Service) Copy(ctx context.Context, by identity.Actor, id prompt.ID,
	c prompt.Copying) (identity.Actor, *prompt.Template, error) {
	t, err := s.Get(ctx, by, id)
	if err != nil {
		return by, nil, err
	}
	drafts, err := s.copied(ctx, by, t, c.Latest)
	if err != nil {
		return by, nil, err
	}
	if by, err = s.actingIn(ctx, by, c.Workspace); err != nil {
		return by, nil, err
	}
	duplicate, err := prompt.New(by, c.Draft(t))
	if err != nil {
		return by, nil, err
	}
	for i := range drafts {
		drafts[i].Check(duplicate.Type)
	}
	current, err := addWithinQuotas(ctx, s, by, func(tx ports.Stores) (*prompt.Template, []quota.Kind, error) {
		t, err := addWith(ctx, tx, by, duplicate, drafts, newIncludeRoom())
		return t, []quota.Kind{quota.PromptTemplates, quota.PromptVersions, quota.StorageBytes}, err
	})
	return by, current, err
}

// addWith stores a template with versions, oldest first, and returns it as it is then.
func addWith(ctx context.Context, tx ports.Stores, by identity.Actor, t *prompt.Template,
	drafts []prompt.VersionDraft, room *includeRoom) (*prompt.Template, error) {
	if err := tx.Prompts.Add(ctx, t); err != nil {
		return nil, err
	}
	for _, d := range drafts {
		added, err := addVersion(ctx, tx, by, t.ID, d, room)
		if err != nil {
			return nil, err
		}
		t = added.template
	}
	return t, nil
}

// actingIn returns by as an actor of another workspace of the org.
func (s *Service) actingIn(ctx context.Context, by identity.Actor, ws identity.WorkspaceID) (identity.Actor, error) {
	if ws == "" || ws == by.Workspace {
		return by, nil
	}
	if by.Key != "" {
		return by, ErrOtherWorkspace
	}
	_, memberships, err := s.users.Get(ctx, by.Org, by.User)
	if err != nil {
		return by, err
	}
	for _, m := range memberships {
		if m.Workspace.ID == ws {
			by.Workspace, by.Role, by.Grouped = ws, min(m.Role, by.Ceiling), m.Grouped
			return by, nil
		}
	}
	return by, identity.ErrWorkspaceNotFound
}

// copied returns the requests for copies of the versions that by may see, oldest first.
func (s *Service) copied(ctx context.Context, by identity.Actor, t *prompt.Template,
	latest bool) ([]prompt.VersionDraft, error) {
	refs := []prompt.Ref{{Active: true}}
	switch {
	case latest && t.Active.Version == "":
		refs[0] = prompt.Ref{Latest: true}
	case !latest:
		var err error
		if refs, err = s.allRefs(ctx, by, t); err != nil {
			return nil, err
		}
	}
	names, room := map[identity.UserID]string{}, maxCopiedBytes
	var drafts []prompt.VersionDraft
	for _, ref := range refs {
		_, v, err := s.Version(ctx, by, t.ID, ref)
		if errors.Is(err, prompt.ErrVersionNotFound) {
			continue // deleted in the meantime, or not found
		}
		if err != nil {
			return nil, err
		}
		if room -= v.Content.Size(); room < 0 {
			return nil, ErrCopyTooLarge
		}
		author, err := s.author(ctx, by, v.CreatedBy, names)
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, prompt.VersionDraft{Content: v.Content, VariablesDeclared: true, Labels: v.Labels,
			CommitMessage: v.Note(author), Activate: v.ID == t.Active.Version, Copied: &v.VersionInfo})
	}
	return drafts, nil
}

// allRefs names the versions that by may see, oldest first.
func (s *Service) allRefs(ctx context.Context, by identity.Actor, t *prompt.Template) (refs []prompt.Ref, err error) {
	if t.Versions(by).Count > maxCopied {
		return nil, ErrCopyTooLarge
	}
	for q := (page.Query{Limit: maxCopied}); ; {
		found, err := s.lists.Versions(ctx, by.Workspace, t.ID, t.SeesDrafts(by), q)
		if err != nil {
			return nil, err
		}
		for _, v := range found.Items {
			refs = append(refs, prompt.Ref{ID: v.ID})
		}
		if q.After = found.Next; q.After == "" || len(refs) > maxCopied {
			slices.Reverse(refs)
			return refs, nil
		}
	}
}

// author returns a version author's name: an id if by may not see members, or the user has no name. names are the names
// so far.
func (s *Service) author(ctx context.Context, by identity.Actor, id identity.UserID,
	names map[identity.UserID]string) (string, error) {
	if by.Role < identity.Viewer || !by.Scopes.Allow("members:read") {
		return string(id), nil
	}
	if _, ok := names[id]; !ok {
		u, _, err := s.users.Get(ctx, by.Org, id)
		switch {
		case errors.Is(err, account.ErrUserNotFound):
			names[id] = string(id)
		case err != nil:
			return "", err
		default:
			names[id] = cmp.Or(u.Name, string(id))
		}
	}
	return names[id], nil
}
