package accounts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// CreateWorkspace creates a workspace of org that by owns. If its slug is derived from the name and
// taken, further candidates are tried. A slug that the caller gave is used or refused as it is.
func (s *Service) CreateWorkspace(ctx context.Context, by identity.Actor, org *identity.Org, slug,
	name string) (*account.Workspace, error) {
	const tries = 6
	isSet := slug != ""
	for try := 1; ; try++ {
		w, err := account.NewWorkspace(by, org, slug, name)
		if err == nil {
			err = s.workspaces.Add(ctx, w)
		}
		if err == nil {
			return w, nil
		}
		if isSet || try == tries || !errors.Is(err, account.ErrSlugTaken) {
			return nil, err
		}
		slug = account.SlugOf(name, try+1)
	}
}

// Workspace returns one of the caller's workspaces.
func (s *Service) Workspace(
	ctx context.Context, by identity.Actor, id identity.WorkspaceID,
) (*account.Workspace, error) {
	w, err := s.workspaces.Get(ctx, by, id)
	if err != nil {
		return nil, err
	}
	return w, w.Allow(by, identity.Viewer)
}

// ChangeWorkspace renames a workspace of org.
func (s *Service) ChangeWorkspace(ctx context.Context, by identity.Actor, org *identity.Org, id identity.WorkspaceID,
	match revision.Match, c account.WorkspaceChanges) (*account.Workspace, error) {
	var w *account.Workspace
	err := s.atomic.Atomically(ctx, func(tx ports.Stores) (err error) {
		w, err = tx.Workspaces.Update(ctx, by, id, nil,
			func(w *account.Workspace) error { return w.Change(by, match, org, c) })
		if err != nil || c.Name == nil {
			return err
		}
		return s.followDetails(ctx, tx.Jobs, by, id)
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// DeleteWorkspace hides a workspace; RestoreWorkspace restores it. Live connections and subscriptions prevent it, so
// that a deleted workspace reads no data and is not charged. They are counted while the workspace is locked, so that
// none can be created in between. A subscription at an account that the org no longer uses does not prevent it, because
// it cannot be ended here. Checkout pages that may be open are ended first, outside transactions: a payer would pay for
// a workspace that no one can use.
func (s *Service) DeleteWorkspace(ctx context.Context, by identity.Actor, id identity.WorkspaceID,
	match revision.Match) error {
	err := s.deleteUnused(ctx, by, id, match)
	if !errors.Is(err, account.ErrWorkspaceInUse) {
		return err
	}
	isEnded, unknown := s.deps.EndCheckouts(ctx, identity.System(by.Org, id, "workspace deletion", by.At))
	if unknown != nil || !isEnded {
		return errors.Join(err, unknown)
	}
	return s.deleteUnused(ctx, by, id, match)
}

// deleteUnused deletes a workspace unless it has live connections or subscriptions: account.ErrWorkspaceInUse.
func (s *Service) deleteUnused(
	ctx context.Context, by identity.Actor, id identity.WorkspaceID, match revision.Match,
) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if _, err := tx.Workspaces.Update(ctx, by, id, nil,
			func(w *account.Workspace) error { return w.Delete(by, match) }); err != nil {
			return err
		}
		charge := func(ctx context.Context, id identity.WorkspaceID) (int, error) {
			return tx.Payments.Live(ctx, id, s.deps.GatewayAccount(by.Org))
		}
		for _, live := range []func(context.Context, identity.WorkspaceID) (int, error){tx.Connections.Live, charge} {
			n, err := live(ctx, id)
			if err != nil {
				return err
			}
			if n > 0 {
				return account.ErrWorkspaceInUse
			}
		}
		return nil
	})
}

// RestoreWorkspace restores a deleted workspace of by's org, named by slug or id. by must be the
// system.
func (s *Service) RestoreWorkspace(
	ctx context.Context, by identity.Actor, idOrSlug string,
) (*account.Workspace, error) {
	w, err := s.workspaces.Find(ctx, by.Org, idOrSlug)
	if err != nil {
		return nil, err
	}
	return s.workspaces.Update(ctx, by, w.ID, nil, func(w *account.Workspace) error { return w.Restore(by) })
}

// Members lists a workspace's members.
func (s *Service) Members(ctx context.Context, by identity.Actor, id identity.WorkspaceID,
	q page.Query) (account.MemberPage, error) {
	if _, err := s.Workspace(ctx, by, id); err != nil {
		return account.MemberPage{}, err
	}
	return s.workspaces.Members(ctx, by.Org, id, q)
}

// Member returns one workspace member.
func (s *Service) Member(ctx context.Context, by identity.Actor, id identity.WorkspaceID,
	user identity.UserID) (account.Member, error) {
	if _, err := s.Workspace(ctx, by, id); err != nil {
		return account.Member{}, err
	}
	return s.workspaces.Member(ctx, by.Org, id, user)
}

// ChangeMember changes a member's role, and returns what the member lost with the previous one.
func (s *Service) ChangeMember(
	ctx context.Context,
	by identity.Actor,
	id identity.WorkspaceID,
	user identity.UserID,
	match revision.Match,
	role identity.Role,
	keep account.KeepServiceKeys,
) (m account.Member, lost account.Loss, err error) {
	lost, err = s.changeMember(ctx, by, id, user, func(w *account.Workspace) (err error) {
		m, err = w.ChangeRole(by, match, user, role, keep)
		return err
	})
	return m, lost, err
}

// RemoveMember ends a membership, with the service keys that the member created unless keep is set, and returns what
// the member lost. Every member may end their own membership.
func (s *Service) RemoveMember(
	ctx context.Context, by identity.Actor, id identity.WorkspaceID, user identity.UserID, match revision.Match,
	keep account.KeepServiceKeys,
) (account.Loss, error) {
	return s.changeMember(ctx, by, id, user, func(w *account.Workspace) error {
		return w.Remove(by, match, user,
			keep)
	})
}

// changeMember changes a workspace member, and returns what the member lost.
func (s *Service) changeMember(
	ctx context.Context, by identity.Actor, id identity.WorkspaceID, user identity.UserID,
	change func(*account.Workspace) error,
) (lost account.Loss, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		w, err := tx.Workspaces.Update(ctx, by, id, []identity.UserID{user}, change)
		if err != nil {
			return err
		}
		lost = w.Lost
		return s.followDetails(ctx, tx.Jobs, by, id)
	})
	return lost, err
}

// Invitations lists a workspace's open invitations.
func (s *Service) Invitations(ctx context.Context, by identity.Actor, id identity.WorkspaceID,
	q page.Query) (account.InvitationPage, error) {
	w, err := s.workspaces.Get(ctx, by, id)
	if err != nil {
		return account.InvitationPage{}, err
	}
	if err := w.Allow(by, identity.Admin); err != nil {
		return account.InvitationPage{}, err
	}
	return s.invitations.List(ctx, by.Org, id, q)
}

// Invitation returns one of a workspace's open invitations.
func (s *Service) Invitation(ctx context.Context, by identity.Actor, ws identity.WorkspaceID,
	id account.InvitationID) (*account.Invitation, error) {
	w, err := s.workspaces.Get(ctx, by, ws)
	if err != nil {
		return nil, err
	}
	if err := w.Allow(by, identity.Admin); err != nil {
		return nil, err
	}
	return s.invitations.Get(ctx, by.Org, ws, id)
}

// Invited is an invitation with its token, which is shown only once.
type Invited struct {
	Invitation *account.Invitation
	Workspace  *account.Workspace
	Token      account.Token
	AcceptURL  string // the link with the token
	Renewed    bool   // it replaced an open one, whose link stopped working
	Mailed     bool   // a mail server accepted the link; false until the invitation is committed
}

// Invite invites an e-mail address's owner to a workspace of org. An open invitation counts for the limit of members: a
// *quota.LimitError if it is reached. The link is mailed after the commit. groups are those that the person joins on
// accepting: account.ErrGroupNotFound if the workspace does not have one of them.
func (s *Service) Invite(
	ctx context.Context, by identity.Actor, org *identity.Org, id identity.WorkspaceID, email string,
	role identity.Role, groups ...identity.UserID,
) (*Invited, error) {
	out, member := &Invited{}, by
	member.Workspace = id
	limits, err := s.deps.Quotas(ctx, member)
	if err != nil {
		return nil, err
	}
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		var grown []quota.Kind
		joins, err := groupsIn(ctx, tx, id, groups)
		if err != nil {
			return err
		}
		if err := tx.Invitations.Invite(ctx, by, id, email,
			func(w *account.Workspace, member identity.UserID, pending *account.Invitation) (_ *account.Invitation,
				err error) {
				out.Workspace, out.Renewed = w, pending != nil
				grown = pending.Seats(by.At)
				if out.Invitation, out.Token, err = w.Invite(by, email, role, member, pending); err != nil {
					return nil, err
				}
				if err := w.InviteToGroups(by, out.Invitation, joins); err != nil {
					return nil, err
				}
				w.Mail(by, out.Invitation, s.deps.Mails.Limits)
				return out.Invitation, nil
			}); err != nil {
			return err
		}
		if len(grown) == 0 {
			return nil
		}
		if err := tx.CheckUsage(ctx, member, limits, grown...); err != nil {
			return err
		}
		return s.followDetails(ctx, tx.Jobs, by, id)
	})
	if err != nil {
		return nil, err
	}
	out.AcceptURL = account.AcceptURL(org, out.Token)
	s.atomic.AfterCommit(func() { out.Mailed = s.deps.Mails.Send(ctx, out.Invitation, out.Workspace, out.AcceptURL) })
	return out, nil
}

// groupsIn reads a workspace's groups.
func groupsIn(
	ctx context.Context, tx ports.Stores, ws identity.WorkspaceID, ids []identity.UserID,
) ([]*account.Group, error) {
	found := make([]*account.Group, len(ids))
	for i, id := range ids {
		g, err := tx.Groups.Get(ctx, ws, id)
		if err != nil {
			return nil, err
		}
		found[i] = g
	}
	return found, nil
}

// Withdraw ends an invitation and the chat memberships that depend on it.
func (s *Service) Withdraw(ctx context.Context, by identity.Actor, ws identity.WorkspaceID, id account.InvitationID,
	match revision.Match) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		err := tx.Invitations.Update(ctx, by, ws, id,
			func(w *account.Workspace, i *account.Invitation) error { return w.Withdraw(by, match, i) })
		if err == nil {
			err = s.followDetails(ctx, tx.Jobs, by, ws)
		}
		if err != nil {
			return err
		}
		return invitedChats(ctx, tx, by, ws, id,
			func(t *chat.Template, invitee, _ chat.Party) { t.Disinvite(by, invitee) })
	})
}

// AcceptInvitation makes the caller a member of the workspace that the token is for, and of the chats
// that the invitation was for. A *quota.LimitError if the workspace has more members and open
// invitations than it may have.
func (s *Service) AcceptInvitation(
	ctx context.Context, by identity.Actor, token string,
) (ws *account.Workspace, err error) {
	t, ok := account.ParseInvitationToken(token)
	if !ok {
		return nil, account.ErrInvitationNotFound
	}
	member := by
	if member.Workspace, err = s.invitations.Workspace(ctx, by.Org, t.Hash()); err != nil {
		return nil, err
	}
	limits, err := s.deps.Quotas(ctx, member)
	if err != nil {
		return nil, err
	}
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (*account.Workspace, error) {
		return acceptIn(ctx, tx, by, member.Workspace, t, limits)
	})
}

// acceptIn accepts the invitation to a workspace that a token is for, in a transaction.
func acceptIn(
	ctx context.Context, tx ports.Stores, by identity.Actor, ws identity.WorkspaceID, t account.Token,
	limits quota.Limits,
) (*account.Workspace, error) {
	member := by
	member.Workspace = ws
	var accepted struct {
		workspace  *account.Workspace
		invitation *account.Invitation
		grown      []quota.Kind
	}
	err := tx.Invitations.Accept(ctx, by, t.Hash(),
		func(u *account.User, w *account.Workspace, i *account.Invitation) error {
			accepted.workspace, accepted.invitation, accepted.grown = w, i, []quota.Kind{quota.Members}
			if _, member := w.Members[by.User]; member { // a guest who has entered in the meantime
				accepted.grown = nil
			}
			return w.Accept(by, u, i)
		})
	if err == nil {
		err = tx.CheckUsage(ctx, member, limits, accepted.grown...)
	}
	if err != nil {
		return nil, err
	}
	for _, id := range accepted.invitation.Groups {
		_, err := tx.Groups.Update(ctx, member, id, []identity.UserID{by.User},
			func(w *account.Workspace, g *account.Group) error { return w.JoinInvited(by, g, accepted.invitation) })
		if err != nil && !errors.Is(err, account.ErrGroupNotFound) {
			return nil, err
		}
	}
	return accepted.workspace, invitedChats(ctx, tx, by, ws, accepted.invitation.ID,
		func(t *chat.Template, invitee, caller chat.Party) { t.Accept(by, invitee, caller) })
}

// invitedChats changes, one after another, the chat templates of ws whose members an invitation would
// make. The invitation's workspace is already locked, as it is when more are added.
func invitedChats(ctx context.Context, tx ports.Stores, by identity.Actor, ws identity.WorkspaceID,
	id account.InvitationID, change func(t *chat.Template, invitee, caller chat.Party)) error {
	by.Workspace = ws
	placeholder := id.Reserved()
	chats, err := tx.Chats.Invited(ctx, ws, placeholder)
	if err != nil {
		return err
	}
	for _, c := range chats {
		if _, err := tx.Chats.UpdateFor(ctx, by, c, []identity.UserID{placeholder, by.User},
			func(t *chat.Template, p []chat.Party) error {
				change(t, p[0], p[1])
				return nil
			}); err != nil {
			return err
		}
	}
	return nil
}
