package prompts

import (
	"cmp"
	"context"
	"slices"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

const (
	maxCounted = 1000 // uses that an error counts, and that a forced deletion can break
	maxNamed   = 20   // uses and owners that an error names
)

// Delete hides a template; Restore restores it. It returns prompt.ErrInUse if chat templates or other prompts use the
// template, unless force is set and the chats are at most 1,000: then each chat gets the event chat_template.degraded,
// and the prompts keep the texts with which they were released.
func (s *Service) Delete(ctx context.Context, by identity.Actor, id prompt.ID, match revision.Match, force bool) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		// While the template is locked, no chat template can start to use it (chats.Service.Change).
		if _, _, err := tx.Prompts.Lock(ctx, by, id, prompt.Ref{}); err != nil {
			return err
		}
		var broken []prompt.Use
		isForced := false
		if force {
			uses, err := tx.ChatLists.Uses(ctx, by.Workspace, id, nil, maxCounted+1)
			if err != nil {
				return err
			}
			if isForced = len(uses) <= maxCounted; isForced {
				broken = uses
			}
		}
		t, err := tx.Prompts.Update(ctx, by, id, func(t *prompt.Template) error {
			if err := t.Delete(by, match); err != nil {
				return err
			}
			t.Orphan(by, broken)
			return nil
		})
		if err == nil {
			err = settle(ctx, tx, by, t)
		}
		if err != nil || isForced {
			return err
		}
		return unused(ctx, tx, by, id, nil)
	})
}

// unused returns prompt.ErrInUse if chat templates, or released versions of other prompts, use a template; by one of
// refs, unless refs is empty. The caller has locked the template.
func unused(ctx context.Context, tx ports.Stores, by identity.Actor, id prompt.ID, refs []string) error {
	chats, err := tx.ChatLists.Uses(ctx, by.Workspace, id, refs, maxCounted)
	if err != nil {
		return err
	}
	others, err := tx.PromptLists.Includers(ctx, by, id, refs, false, maxCounted)
	if err != nil || (len(chats) == 0 && len(others) == 0) {
		return err
	}
	uses := slices.Concat(chats, others)
	visible, err := tx.ChatLists.Visible(ctx, by, chat.Filter{Prompt: id, Refs: refs}, page.Query{Limit: maxNamed})
	if err != nil {
		return err
	}
	seen := make([]fault.Use, len(visible.Items))
	for i, t := range visible.Items {
		seen[i] = fault.Use{ID: string(t.ID), Name: t.Name}
	}
	if len(others) > 0 {
		if others, err = tx.PromptLists.Includers(ctx, by, id, refs, true, maxNamed); err != nil {
			return err
		}
	}
	for _, t := range others[:min(len(others), maxNamed-len(seen))] {
		seen = append(seen, fault.Use{ID: t.ID, Name: t.Name})
	}
	return prompt.ErrInUse.UsedByThese(seen, len(uses), owners(by, uses))
}

// owners returns the owners of uses, once each, if by may see the members of the workspace.
func owners(by identity.Actor, uses []prompt.Use) []fault.Use {
	if by.Role < identity.Viewer || !by.Scopes.Allow("members:read") {
		return nil
	}
	all := make([]fault.Use, len(uses))
	for i, u := range uses {
		all[i] = fault.Use{ID: string(u.Owner), Name: u.OwnerName}
	}
	slices.SortFunc(all, func(a, b fault.Use) int { return cmp.Compare(a.ID, b.ID) })
	all = slices.Compact(all)
	return all[:min(len(all), maxNamed)]
}
