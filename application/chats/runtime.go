package chats

import (
	"context"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// Runtime is what a program needs to run a chat.
type Runtime struct {
	Template *chat.Template  // with the published content, or the draft if none is published
	Version  *prompt.Version // that holds the instructions; nil: they are the template's own
	chat.Effective
}

// Runtime returns what by's program needs to run a chat, with values for variables of the prompt; those that are left
// out have the values that the template's reply gives them. Requires the editor role, since it shows the instructions.
// Returns chat.ErrPromptGone if the prompt or its version no longer exists.
func (s *Replies) Runtime(
	ctx context.Context, by identity.Actor, of chat.ID, values map[string]any,
) (*Runtime, error) {
	t, err := s.chats.Get(ctx, by, of)
	if err != nil {
		return nil, err
	}
	if err := t.Allow(by, access.Editor); err != nil {
		return nil, err
	}
	// The chat's editors see its instructions, whatever they see of the prompt that holds them.
	system := identity.System(by.Org, by.Workspace, "chat runtime", by.At)
	served := *t
	served.Content = t.Served()
	out := &Runtime{Template: &served}
	out.Version, out.Effective, err = s.effective(ctx, system, &served, values)
	return out, err
}
