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

// Runtime is what a program needs to run a chat.
type Runtime struct {
	Template *chat.Template  // with the published content, or the draft if none is published
	Version  *prompt.Version // that holds the instructions; nil: they are the template's own
	chat.Effective
}

// Runtime returns what by's program needs to run a chat, with values for variables of the prompt; those that are left
// out have the values that the template's reply gives them. Requires the editor role, since it shows the instructions.
// Returns chat.ErrPromptGone if the prompt or its version no longer exists.
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
	out := &Runtime{Template: &view}
	out.Version, out.Effective, err = s.instructions(ctx, system, &view, values)
	return out, err
}

// Effective returns a template's effective instructions, as the owner of the template may read them, with values for
// variables of its prompt. Returns chat.ErrPromptGone if the prompt or its version no longer exists.
func (s *Service) Effective(
	ctx context.Context, by identity.Actor, t *chat.Template, values map[string]any,
) (chat.Effective, error) {
	_, e, err := s.instructions(ctx, by, t, values)
	return e, err
}

// instructions returns a template's effective instructions: its own, with a nil version, or the instructions of its
// prompt's version. The rights of the template's owner decide which version that is. It returns chat.ErrPromptGone if
// that version does not exist.
func (s *Service) instructions(
	ctx context.Context, by identity.Actor, t *chat.Template, values map[string]any,
) (*prompt.Version, chat.Effective, error) {
	if t.Prompt == (chat.Prompt{}) {
		return nil, chat.Effective{Instructions: t.Instructions}, nil
	}
	found, v, _, err := s.deps.Prompts.Referenced(ctx, by, t.Prompt.Reference(t.ID))
	if errors.Is(err, prompt.ErrNotFound) || (err == nil && (v == nil || !found.DeletedAt.IsZero())) {
		return nil, chat.Effective{}, chat.ErrPromptGone
	}
	if err != nil {
		return nil, chat.Effective{}, err
	}
	expanded, err := s.deps.Expand(ctx, s.deps.Prompts, by, found, v)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Invalid { // a draft include is gone
		return nil, chat.Effective{}, chat.ErrPromptGone
	}
	if err != nil {
		return nil, chat.Effective{}, err
	}
	e, err := t.Reply.Effective(expanded.Content, values)
	return v, e, err
}
