package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// Shares lists the shares of a template.
func (s *Service) Shares(ctx context.Context, by identity.Actor, id prompt.ID, q page.Query) (prompt.SharePage, error) {
	t, err := s.prompts.Get(ctx, by, id)
	if err != nil {
		return prompt.SharePage{}, err
	}
	if err := t.Allow(by, access.Manager); err != nil {
		return prompt.SharePage{}, err
	}
	return s.lists.Shares(ctx, by.Workspace, id, q)
}

// ShareWith returns the share of one user. Every user may read their own.
func (s *Service) ShareWith(
	ctx context.Context, by identity.Actor, id prompt.ID, user identity.UserID,
) (prompt.Share, error) {
	t, err := s.prompts.Get(ctx, by, id)
	if err != nil {
		return prompt.Share{}, err
	}
	need := access.Manager
	if user == by.User {
		need = access.Viewer
	}
	if err := t.Allow(by, need); err != nil {
		return prompt.Share{}, err
	}
	return s.lists.Share(ctx, by.Workspace, id, user)
}

// Share gives a member of the workspace access.
func (s *Service) Share(ctx context.Context, by identity.Actor, id prompt.ID, g prompt.Grant) (prompt.Share, error) {
	user := g.User
	if user == "" {
		var err error
		if user, err = s.users.Member(ctx, by.Workspace, "", g.Email); err != nil {
			return prompt.Share{}, err
		}
	}
	return s.changeShare(ctx, by, id, user, func(t *prompt.Template, to prompt.Recipient) (prompt.Share, error) {
		return t.Share(by, to, g)
	})
}

// ChangeShare changes a user's share.
func (s *Service) ChangeShare(ctx context.Context, by identity.Actor, id prompt.ID, user identity.UserID,
	at revision.Match, c prompt.ShareChanges) (prompt.Share, error) {
	return s.changeShare(ctx, by, id, user, func(t *prompt.Template, of prompt.Recipient) (prompt.Share, error) {
		return t.ChangeShare(by, at, of, c)
	})
}

// Unshare removes a user's share.
func (s *Service) Unshare(ctx context.Context, by identity.Actor, id prompt.ID, user identity.UserID,
	at revision.Match) error {
	_, err := s.changeShare(ctx, by, id, user, func(t *prompt.Template, of prompt.Recipient) (prompt.Share, error) {
		return prompt.Share{}, t.Unshare(by, at, of)
	})
	return err
}

func (s *Service) changeShare(ctx context.Context, by identity.Actor, id prompt.ID, user identity.UserID,
	change func(*prompt.Template, prompt.Recipient) (prompt.Share, error)) (share prompt.Share, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		t, err := tx.Prompts.UpdateFor(ctx, by, id, user, func(t *prompt.Template, named prompt.Recipient) error {
			share, err = change(t, named)
			return err
		})
		if err != nil {
			return err
		}
		return settle(ctx, tx, by, t)
	})
	return share, err
}
