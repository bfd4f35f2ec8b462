package accounts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// capture makes p, who signed in with claims, a member of the workspaces that capture the domain of the address that
// the claims prove. A workspace that has no seat left is skipped until the next sign-in.
func (s *Service) capture(
	ctx context.Context, by identity.Actor, org *identity.Org, p *account.Person, c account.Claims,
) (hasJoined bool, err error) {
	for _, rule := range org.CapturesOf(c.EmailFor(org)) {
		ws, err := s.workspaces.Find(ctx, by.Org, rule.Workspace)
		if errors.Is(err, identity.ErrWorkspaceNotFound) || (err == nil && (!ws.DeletedAt.IsZero() || p.IsIn(ws.ID))) {
			continue
		}
		if err != nil {
			return hasJoined, err
		}
		isCaptured, err := s.captureIn(ctx, by, ws.ID, rule, p.User.ID)
		if _, full := errors.AsType[*quota.LimitError](err); err != nil && !full {
			return hasJoined, err
		}
		hasJoined = hasJoined || isCaptured
	}
	return hasJoined, nil
}

// captureIn makes a user a workspace member, unless they were captured before.
func (s *Service) captureIn(
	ctx context.Context, by identity.Actor, ws identity.WorkspaceID, rule identity.Capture, user identity.UserID,
) (bool, error) {
	by.Workspace = ws
	limits, err := s.deps.Quotas(ctx, by)
	if err != nil {
		return false, err
	}
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (isCaptured bool, err error) {
		isCaptured, err = tx.Captures.Capture(ctx, by, rule.Workspace, user,
			func(w *account.Workspace) error { return w.Capture(by, user, rule) })
		if err != nil || !isCaptured {
			return false, err
		}
		if err := tx.CheckUsage(ctx, by, limits, quota.Members); err != nil {
			return false, err
		}
		return true, s.followDetails(ctx, tx.Jobs, by, ws)
	})
}
