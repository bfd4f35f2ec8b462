package prompts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// Shares lists a template's shares.
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
	user, err := s.grantee(ctx, by, g)
	if err != nil {
		return prompt.Share{}, err
	}
	return s.changeShare(ctx, by, id, user, func(t *prompt.Template, recipient prompt.Recipient) (prompt.Share, error) {
		return t.Share(by, recipient, g)
	})
}

// ChangeShare changes a user's share.
func (s *Service) ChangeShare(ctx context.Context, by identity.Actor, id prompt.ID, user identity.UserID,
	match revision.Match, c prompt.ShareChanges) (prompt.Share, error) {
	return s.changeShare(ctx, by, id, user, func(t *prompt.Template, recipient prompt.Recipient) (prompt.Share, error) {
		return t.ChangeShare(by, match, recipient, c)
	})
}

// Unshare removes a user's share.
func (s *Service) Unshare(ctx context.Context, by identity.Actor, id prompt.ID, user identity.UserID,
	match revision.Match) error {
	_, err := s.changeShare(ctx, by, id, user, func(t *prompt.Template, recipient prompt.Recipient) (prompt.Share,
		error) {
		return prompt.Share{}, t.Unshare(by, match, recipient)
	})
	return err
}

// ChangeShares gives several users roles on a template, or ends their shares, in one transaction. Addresses must belong
// to members of the workspace. If any grant is refused, none takes effect: the error names all refused grants.
func (s *Service) ChangeShares(ctx context.Context, by identity.Actor, id prompt.ID, grants []prompt.Grant) (
	changes []prompt.ShareChanged, err error) {
	t, err := s.prompts.Get(ctx, by, id)
	if err == nil {
		err = t.Allow(by, access.Manager) // before the addresses, which are then told apart
	}
	if err == nil {
		err = prompt.CheckGrants(by, grants)
	}
	if err != nil {
		return nil, err
	}
	users, err := s.named(ctx, by, grants)
	if err != nil {
		return nil, err
	}
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		changes = make([]prompt.ShareChanged, len(grants))
		var refusals []error
		for _, removals := range []bool{true, false} { // first, so that a full template can have its shares replaced
			for i, g := range grants {
				if (g.Role == access.None) != removals {
					continue
				}
				_, err := tx.Prompts.UpdateFor(ctx, by, id, users[i],
					func(t *prompt.Template, recipient prompt.Recipient) (err error) {
						changes[i], err = t.SetShare(by, recipient, g)
						return err
					})
				if _, isRefusal := errors.AsType[*fault.Error](err); err != nil && !isRefusal {
					return err
				}
				refusals = append(refusals, prompt.InGrant(i, err))
			}
		}
		if err := fault.Join(refusals...); err != nil {
			return err
		}
		t, err := tx.Prompts.Get(ctx, by, id)
		if err != nil {
			return err
		}
		return settle(ctx, tx, by, t)
	})
	return changes, err
}

// grantee returns the user that a grant is for; empty if no member of the workspace has its address.
func (s *Service) grantee(ctx context.Context, by identity.Actor, g prompt.Grant) (identity.UserID, error) {
	if g.User != "" {
		return g.User, nil
	}
	return s.users.Member(ctx, by.Workspace, "", g.Email)
}

// named returns the users of grants, in their order. None is named twice.
func (s *Service) named(ctx context.Context, by identity.Actor, grants []prompt.Grant) ([]identity.UserID, error) {
	users := make([]identity.UserID, len(grants))
	var errs []error
	seen := map[identity.UserID]bool{}
	for i, g := range grants {
		var err error
		if users[i], err = s.grantee(ctx, by, g); err != nil {
			return nil, err
		}
		switch {
		case users[i] == "":
			errs = append(errs, prompt.InGrant(i, prompt.ErrUserNotInWorkspace))
		case seen[users[i]]:
			errs = append(errs, prompt.InGrant(i, fault.InField("", "duplicate_item", "Must name each user once.")))
		}
		seen[users[i]] = true
	}
	return users, fault.Join(errs...)
}

func (s *Service) changeShare(ctx context.Context, by identity.Actor, id prompt.ID, user identity.UserID,
	change func(*prompt.Template, prompt.Recipient) (prompt.Share, error)) (prompt.Share, error) {
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (share prompt.Share, err error) {
		t, err := tx.Prompts.UpdateFor(ctx, by, id, user,
			func(t *prompt.Template, recipient prompt.Recipient) (err error) {
				share, err = change(t, recipient)
				return err
			})
		if err != nil {
			return share, err
		}
		return share, settle(ctx, tx, by, t)
	})
}
