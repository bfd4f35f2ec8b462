package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
)

// CreateWorkspace makes a workspace that by owns.
func (s *Service) CreateWorkspace(ctx context.Context, by identity.Actor, slug, name string) (*account.Workspace, error) {
	w, err := account.NewWorkspace(by, slug, name)
	if err != nil {
		return nil, err
	}
	return w, s.workspaces.Add(ctx, w)
}

// Workspace returns one of the caller's workspaces.
func (s *Service) Workspace(ctx context.Context, by identity.Actor, id identity.WorkspaceID) (*account.Workspace, error) {
	w, err := s.workspaces.Get(ctx, by, id)
	if err != nil {
		return nil, err
	}
	return w, w.Allow(by, identity.Viewer)
}

// ChangeWorkspace renames a workspace.
func (s *Service) ChangeWorkspace(ctx context.Context, by identity.Actor, id identity.WorkspaceID, at revision.Match, c account.WorkspaceChanges) (*account.Workspace, error) {
	return s.workspaces.Update(ctx, by, id, nil, func(w *account.Workspace) error { return w.Change(by, at, c) })
}

// DeleteWorkspace hides a workspace; RestoreWorkspace brings it back.
func (s *Service) DeleteWorkspace(ctx context.Context, by identity.Actor, id identity.WorkspaceID, at revision.Match) error {
	_, err := s.workspaces.Update(ctx, by, id, nil, func(w *account.Workspace) error { return w.Delete(by, at) })
	return err
}

// RestoreWorkspace brings a deleted workspace of by's org back, named by slug or id. by is the
// system.
func (s *Service) RestoreWorkspace(ctx context.Context, by identity.Actor, idOrSlug string) (*account.Workspace, error) {
	w, err := s.workspaces.Find(ctx, by.Org, idOrSlug)
	if err != nil {
		return nil, err
	}
	return s.workspaces.Update(ctx, by, w.ID, nil, func(w *account.Workspace) error { return w.Restore(by) })
}

// Members lists a workspace's members.
func (s *Service) Members(ctx context.Context, by identity.Actor, id identity.WorkspaceID, q page.Query) (account.MemberPage, error) {
	if _, err := s.Workspace(ctx, by, id); err != nil {
		return account.MemberPage{}, err
	}
	return s.workspaces.Members(ctx, by.Org, id, q)
}

// ChangeMember gives a member another role.
func (s *Service) ChangeMember(ctx context.Context, by identity.Actor, id identity.WorkspaceID, user identity.UserID, at revision.Match, to identity.Role) (m account.Member, err error) {
	_, err = s.workspaces.Update(ctx, by, id, []identity.UserID{user}, func(w *account.Workspace) error {
		m, err = w.ChangeRole(by, at, user, to)
		return err
	})
	return m, err
}

// RemoveMember ends a membership; everyone may end their own.
func (s *Service) RemoveMember(ctx context.Context, by identity.Actor, id identity.WorkspaceID, user identity.UserID, at revision.Match) error {
	_, err := s.workspaces.Update(ctx, by, id, []identity.UserID{user}, func(w *account.Workspace) error { return w.Remove(by, at, user) })
	return err
}

// Invitations lists a workspace's open invitations.
func (s *Service) Invitations(ctx context.Context, by identity.Actor, id identity.WorkspaceID, q page.Query) (account.InvitationPage, error) {
	w, err := s.workspaces.Get(ctx, by, id)
	if err != nil {
		return account.InvitationPage{}, err
	}
	if err := w.Allow(by, identity.Admin); err != nil {
		return account.InvitationPage{}, err
	}
	return s.invitations.List(ctx, by.Org, id, q)
}

// Invited is an invitation with its token, which is shown this once.
type Invited struct {
	Invitation *account.Invitation
	Workspace  *account.Workspace
	Token      account.Token
	Renewed    bool // there was an open one, whose link ended
}

// Invite asks the owner of an e-mail address into a workspace.
func (s *Service) Invite(ctx context.Context, by identity.Actor, id identity.WorkspaceID, email string, role identity.Role) (out Invited, err error) {
	err = s.invitations.Invite(ctx, by, id, email, func(w *account.Workspace, member identity.UserID, pending *account.Invitation) (*account.Invitation, error) {
		out.Workspace, out.Renewed = w, pending != nil
		out.Invitation, out.Token, err = w.Invite(by, email, role, member, pending)
		return out.Invitation, err
	})
	return out, err
}

// Withdraw ends an invitation.
func (s *Service) Withdraw(ctx context.Context, by identity.Actor, ws identity.WorkspaceID, id account.InvitationID, at revision.Match) error {
	return s.invitations.Update(ctx, by, ws, id, func(w *account.Workspace, i *account.Invitation) error { return w.Withdraw(by, at, i) })
}

// AcceptInvitation makes the caller a member of the workspace that a token invites to.
func (s *Service) AcceptInvitation(ctx context.Context, by identity.Actor, token string) (joined *account.Workspace, err error) {
	t, ok := account.ParseInvitationToken(token)
	if !ok {
		return nil, account.ErrInvitationNotFound
	}
	err = s.invitations.Accept(ctx, by, t.Hash(), func(u *account.User, w *account.Workspace, i *account.Invitation) error {
		joined = w
		return w.Accept(by, u, i)
	})
	return joined, err
}
