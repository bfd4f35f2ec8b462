package accounts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/session"
)

// PersonAccess is everything with which a person can act in an org.
type PersonAccess struct {
	*account.AccessOverview
	Sessions []session.Session // live ones, the newest first
	Passkeys []account.Passkey // the newest first
}

// AccessOf returns everything with which a person of by's org, which has a policy, can act. by is an operator or the
// system.
func (s *Service) AccessOf(
	ctx context.Context, by identity.Actor, policy identity.SessionPolicy, id identity.UserID,
) (*PersonAccess, error) {
	if err := account.MayChangeAccess(by); err != nil {
		return nil, err
	}
	return s.accessOf(ctx, by, policy, id)
}

// OwnAccess is AccessOf for the caller. An API key may not call it, as account.MayExportSelf.
func (s *Service) OwnAccess(
	ctx context.Context, by identity.Actor, policy identity.SessionPolicy,
) (*PersonAccess, error) {
	if err := account.MayExportSelf(by); err != nil {
		return nil, err
	}
	return s.accessOf(ctx, by, policy, by.User)
}

// accessOf adds the sessions and passkeys to an overview. The caller has checked who asks.
func (s *Service) accessOf(
	ctx context.Context, by identity.Actor, policy identity.SessionPolicy, id identity.UserID,
) (*PersonAccess, error) {
	overview, err := s.people.Overview(ctx, by.Org, id, "", by.At, account.MaxOverviewItems)
	if err != nil {
		return nil, err
	}
	if overview.User.Service {
		return nil, account.ErrUserNotFound
	}
	sessions, err := s.deps.Sessions.List(ctx, by.Org, id, "", by.At, page.Query{Limit: account.MaxOverviewItems})
	if err != nil {
		return nil, err
	}
	passkeys, err := s.deps.Passkeys.List(ctx, by.Org, id, page.Query{Limit: account.MaxPasskeys})
	if err != nil {
		return nil, err
	}
	overview.Truncated = overview.Truncated || sessions.Next != ""
	return &PersonAccess{
		AccessOverview: overview, Sessions: session.LiveOf(sessions.Items, policy, by.At), Passkeys: passkeys.Items,
	}, nil
}

// AccessOfMember returns what a member can do in a workspace, and what acts for them there. by is an owner of the
// workspace. account.ErrMemberNotFound if the workspace has no such member.
func (s *Service) AccessOfMember(
	ctx context.Context, by identity.Actor, ws identity.WorkspaceID, user identity.UserID,
) (*account.AccessOverview, error) {
	w, err := s.workspaces.Get(ctx, by, ws)
	if err != nil {
		return nil, err
	}
	if err := w.Allow(by, identity.Owner); err != nil {
		return nil, err
	}
	overview, err := s.people.Overview(ctx, by.Org, user, ws, by.At, account.MaxOverviewItems)
	switch {
	case errors.Is(err, account.ErrUserNotFound), err == nil && len(overview.Workspaces) == 0:
		return nil, account.ErrMemberNotFound
	case err != nil:
		return nil, err
	}
	return overview, nil
}
