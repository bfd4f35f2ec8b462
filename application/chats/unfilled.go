package chats

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

const (
	maxUnfilled = 20  // chats that one activation names
	maxExamined = 200 // chats that it examines
)

// Unfilled is a chat that cannot reply with a version of its prompt.
type Unfilled struct {
	ID        chat.ID
	Name      string
	Variables []string // without a value that fits, sorted; empty if the instructions would be too long
}

// Unfilled returns the chats that could not reply if a prompt version were active, because their reply lacks values for
// its variables: at most 20, of those that by may read. isComplete is false if there are more chats than it examines.
// Returns the errors of reading the version.
func (s *Service) Unfilled(
	ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
) (found []Unfilled, isComplete bool, err error) {
	reading, v, err := s.deps.Prompts.GetVersion(ctx, by, id, ref)
	if err == nil {
		err = reading.Allow(by, ref, v)
	}
	if err != nil || !by.Scopes.Allow("chats:read") {
		return nil, true, err
	}
	expanded, err := s.deps.Expand(ctx, s.deps.Prompts, by, reading, v)
	if err != nil {
		return nil, false, err
	}
	uses, err := s.lists.Uses(ctx, by.Workspace, id, []string{"active", latest.Ref}, maxExamined+1)
	if err != nil || len(uses) == 0 {
		return nil, true, err
	}
	refs, err := s.following(ctx, by, v)
	if err != nil {
		return nil, false, err
	}
	for _, use := range uses[:min(len(uses), maxExamined)] {
		t, err := s.chats.Get(ctx, by, chat.ID(use.ID))
		if errors.Is(err, chat.ErrNotFound) { // it was erased in the meantime
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if t.Allow(by, access.Viewer) != nil || t.PromptLost { // such a chat stays at its version
			continue
		}
		names, isUnfilled := t.Unfilled(id, refs, expanded.Content)
		if !isUnfilled {
			continue
		}
		if len(found) == maxUnfilled {
			return found, false, nil
		}
		found = append(found, Unfilled{t.ID, t.Name, names})
	}
	return found, len(uses) <= maxExamined, nil
}

// latest follows the latest released version.
var latest = chat.Prompt{Ref: "latest"}

// following returns the references that name v once it is active: latest too, unless a later version was released.
func (s *Service) following(ctx context.Context, by identity.Actor, v *prompt.Version) ([]string, error) {
	_, released, err := s.deps.Prompts.GetVersion(ctx, by, v.Template, latest.Version())
	if err != nil || (released != nil && released.Number > v.Number) {
		return []string{"active"}, err
	}
	return []string{"active", latest.Ref}, nil
}
