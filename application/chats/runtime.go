package chats

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// ExpandPrompt returns a version as its readers get it, with the text of its includes.
type ExpandPrompt func(ctx context.Context, store ports.PromptVersions, by identity.Actor, reading *prompt.Reading,
	v *prompt.Version) (*prompt.Version, error)

// ChoosePrompt returns the version that a rollout of the label that ref names chooses for key; otherwise v, which has
// the label.
type ChoosePrompt func(ctx context.Context, store ports.PromptVersions, by identity.Actor, reading *prompt.Reading,
	v *prompt.Version, ref prompt.Ref, key string) (*prompt.Version, error)

// Runtime is what a program needs to run a chat.
type Runtime struct {
	Template *chat.Template  // with the published content, or the draft; without items that the registry lacks
	Version  *prompt.Version // that holds the instructions; nil: they are the template's own
	Issues   []chat.Issue    // their pointers are into the whole content
	chat.Effective
}

// Runtime returns what by's program needs to run a chat, with values for variables of the prompt; those that are left
// out have the values that the template's reply gives them. Requires the editor role, since it shows the instructions.
// Returns chat.ErrPromptGone if the prompt or its version no longer exists, and the errors of prompt.Content.Render in
// the mode strict: a program must not run with instructions that are not complete.
func (s *Service) Runtime(
	ctx context.Context, by identity.Actor, template chat.ID, values map[string]any,
) (*Runtime, error) {
	t, err := s.chats.Get(ctx, by, template)
	if err != nil {
		return nil, err
	}
	if err := t.Allow(by, access.Editor); err != nil {
		return nil, err
	}
	// The chat's editors see its instructions, whatever they see of the prompt that holds them.
	system := identity.System(by.Org, by.Workspace, "chat runtime", by.At)
	view := *t
	view.Content = t.Served()
	out := &Runtime{Template: &view, Issues: s.registryIssues(by, &view)}
	out.Version, out.Effective, err = s.effective(ctx, system, &view, values, "")
	view.Content = s.Registry(by).Offered(view.Content)
	return out, err
}

func (s *Service) registryIssues(by identity.Actor, t *chat.Template) []chat.Issue {
	registry := s.Registry(by)
	return append(registry.Issues(new(t.Summary())), registry.BrokenConfigs(t)...)
}

// Issues returns why a template does not work as configured. A chat that replies also needs values for the variables of
// its prompt, in the draft and in the published version.
func (s *Service) Issues(ctx context.Context, by identity.Actor, t *chat.Template) ([]chat.Issue, error) {
	issues := s.registryIssues(by, t)
	system := identity.System(by.Org, by.Workspace, "chat health", by.At)
	contents := []chat.Content{t.Content}
	if t.Published != nil && t.HasChanges() {
		contents = append(contents, t.Published.Content)
	}
	for _, c := range contents {
		if !c.Reply.Answers() || c.Prompt == (chat.Prompt{}) {
			continue
		}
		view := *t
		view.Content = c
		_, _, err := s.effective(ctx, system, &view, nil, "")
		if chat.IsUnfilled(err) {
			return append(issues, chat.MissingVariables), nil
		}
		if err != nil && !errors.Is(err, chat.ErrPromptGone) { // that one is an issue already
			return nil, err
		}
	}
	return issues, nil
}

// Effective returns what a model gets, as the owner of the template may read it, with values for
// variables of its prompt. If a rollout divides the prompt's readers, key decides which version it is; without key, or
// if reply lacks values for that version's variables, it is the version that has the label. Returns the errors of
// Runtime.
func (s *Service) Effective(
	ctx context.Context, by identity.Actor, t *chat.Template, values map[string]any, key string,
) (chat.Effective, error) {
	_, e, err := s.effective(ctx, by, t, values, key)
	if key != "" && chat.IsUnfilled(err) {
		_, e, err = s.effective(ctx, by, t, values, "")
	}
	return e, err
}

// effective is Effective, with the version of the prompt; nil if the template has its own instructions. The rights of
// the template's owner decide which version that is.
func (s *Service) effective(
	ctx context.Context, by identity.Actor, t *chat.Template, values map[string]any, key string,
) (v *prompt.Version, e chat.Effective, err error) {
	e = t.Own()
	if t.Prompt != (chat.Prompt{}) {
		v, e, err = s.prompted(ctx, by, t, values, key)
	}
	if err == nil && v != nil {
		e.Prompt = chat.VersionOf(v)
	}
	e.Workflows = s.Registry(by).OfferedWorkflows(t.Content)
	return v, e, err
}

// prompted is effective for a template with a prompt.
func (s *Service) prompted(
	ctx context.Context, by identity.Actor, t *chat.Template, values map[string]any, key string,
) (*prompt.Version, chat.Effective, error) {
	found, v, isLost, err := s.deps.Prompts.Referenced(ctx, by, t.Prompt.Reference(t.ID))
	if errors.Is(err, prompt.ErrNotFound) || (err == nil && (v == nil || !found.DeletedAt.IsZero())) {
		return nil, chat.Effective{}, chat.ErrPromptGone
	}
	if err != nil {
		return nil, chat.Effective{}, err
	}
	if !isLost { // otherwise the chat stays at its version
		if v, err = s.deps.Choose(ctx, s.deps.Prompts, by, found, v, t.Prompt.Version(), key); err != nil {
			return nil, chat.Effective{}, err
		}
	}
	expanded, err := s.deps.Expand(ctx, s.deps.Prompts, by, found, v)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Invalid { // a draft include is gone
		return nil, chat.Effective{}, chat.ErrPromptGone
	}
	if err != nil {
		return nil, chat.Effective{}, err
	}
	e, err := t.Content.Effective(expanded.Content, values)
	return v, e, err
}
