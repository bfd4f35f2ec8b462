package chats

import (
	"context"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// Members lists a template's members, including its owner.
func (s *Service) Members(ctx context.Context, by identity.Actor, id chat.ID, q page.Query) (chat.MemberPage, error) {
	if _, err := s.Get(ctx, by, id); err != nil {
		return chat.MemberPage{}, err
	}
	return s.lists.Members(ctx, by.Workspace, id, q)
}

// Member returns one of a template's members, including its owner.
func (s *Service) Member(ctx context.Context, by identity.Actor, id chat.ID, user identity.UserID) (chat.Member,
	error) {
	if _, err := s.Get(ctx, by, id); err != nil {
		return chat.Member{}, err
	}
	return s.lists.Member(ctx, by.Workspace, id, user)
}

// Added is a new member. For a person from outside the workspace it has the invitation with its token,
// which is shown only once.
type Added struct {
	Member     chat.Member
	Invitation *account.Invitation // nil: a member of the workspace
	Workspace  *account.Workspace  // of the invitation
	Token      account.Token
	AcceptURL  string // the link with the token
	Mailed     bool   // a mail server accepted the link; false until the invitation is committed
	Again      bool   // had been invited to the template before; the earlier links still work
}

// AddMember gives a member of the workspace access at once, and invites anyone else to it and to org.
func (s *Service) AddMember(
	ctx context.Context, by identity.Actor, org *identity.Org, id chat.ID, g chat.Grant,
) (_ *Added, err error) {
	user := g.User
	if g.User == "" && g.Email != "" {
		if user, err = s.deps.Users.Member(ctx, by.Workspace, "", g.Email); err != nil {
			return nil, err
		}
		if user == "" {
			return s.invite(ctx, by, org, id, g)
		}
	}
	out := &Added{}
	if _, err = s.chats.UpdateFor(ctx, by, id, []identity.UserID{user}, func(t *chat.Template, p []chat.Party) error {
		out.Member, err = t.Add(by, p[0], g)
		return err
	}); err != nil {
		return nil, err
	}
	u, _, err := s.deps.Users.Get(ctx, by.Org, user)
	if err != nil {
		return nil, err
	}
	out.Member.Email, out.Member.Name = u.Email, u.Name
	return out, nil
}

// invite invites a person to the workspace because of a template. The workspace is locked before the template, as when
// an invitation is accepted. The link is mailed after the commit.
func (s *Service) invite(
	ctx context.Context, by identity.Actor, org *identity.Org, id chat.ID, g chat.Grant,
) (*Added, error) {
	t, err := s.chats.Get(ctx, by, id)
	if err != nil {
		return nil, err
	}
	if err := t.MayAdd(by, "", g); err != nil {
		return nil, err
	}
	limits, err := s.deps.Quotas(ctx, by)
	if err != nil {
		return nil, err
	}
	out := &Added{}
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		var grown []quota.Kind
		if err := tx.Invitations.Invite(ctx, by, by.Workspace, g.Email,
			func(w *account.Workspace, member identity.UserID, pending *account.Invitation) (_ *account.Invitation,
				err error) {
				out.Workspace = w
				grown = pending.Seats(by.At)
				if out.Invitation, out.Token, err = w.InviteGuest(by, g.Email, member, pending); err != nil {
					return nil, err
				}
				w.Mail(by, out.Invitation, s.deps.MailLimits)
				return out.Invitation, nil
			}); err != nil {
			return err
		}
		placeholder := out.Invitation.ID.Reserved()
		_, err = tx.Chats.UpdateFor(ctx, by, id, []identity.UserID{placeholder},
			func(t *chat.Template, p []chat.Party) error {
				out.Again = p[0].Member != nil
				out.Member, err = t.Invite(by, p[0], g)
				return err
			})
		if err != nil {
			return err
		}
		return tx.CheckUsage(ctx, by, limits, grown...)
	})
	if err != nil {
		return nil, err
	}
	out.AcceptURL = account.AcceptURL(org, out.Token)
	s.atomic.AfterCommit(func() {
		out.Mailed = s.deps.MailInvitation(ctx, out.Invitation, out.Workspace, out.AcceptURL)
	})
	return out, nil
}

// ChangeMember changes a member's role.
func (s *Service) ChangeMember(ctx context.Context, by identity.Actor, id chat.ID, user identity.UserID,
	match revision.Match, role access.Role) (m chat.Member, err error) {
	_, err = s.chats.UpdateFor(ctx, by, id, []identity.UserID{user},
		func(t *chat.Template, p []chat.Party) (err error) {
			m, err = t.ChangeMember(by, match, p[0], role)
			return err
		})
	return m, err
}

// RemoveMember ends a membership. Every member may end their own. If the member's workspace invitation
// was made only for this template, it ends too.
func (s *Service) RemoveMember(ctx context.Context, by identity.Actor, id chat.ID, user identity.UserID,
	match revision.Match) error {
	remove := func(chats ports.Chats) (m chat.Member, err error) {
		_, err = chats.UpdateFor(ctx, by, id, []identity.UserID{user},
			func(t *chat.Template, p []chat.Party) (err error) {
				m, err = t.Remove(by, match, p[0])
				return err
			})
		return m, err
	}
	member, err := s.deps.Users.Member(ctx, by.Workspace, user, "")
	if err != nil {
		return err
	}
	if member != "" {
		_, err = remove(s.chats)
		return err
	}
	// The workspace is locked before the template, as in invite.
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if err := tx.Workspaces.Lock(ctx, by.Org, by.Workspace); err != nil {
			return err
		}
		m, err := remove(tx.Chats)
		if err != nil || !m.Invited {
			return err
		}
		return endUnusedInvitation(ctx, tx, by, user)
	})
}

// ChangeMembers adds, changes and removes several members in one transaction. Addresses must belong to members of the
// workspace. It withdraws the invitations of invited members who are removed, as RemoveMember does.
func (s *Service) ChangeMembers(
	ctx context.Context, by identity.Actor, id chat.ID, grants []chat.Grant,
) (changes []chat.MemberChanged, err error) {
	t, err := s.chats.Get(ctx, by, id)
	if err == nil {
		err = t.Allow(by, access.Manager) // before the addresses are looked up
	}
	if err != nil {
		return nil, err
	}
	if err := chat.CheckGrants(grants); err != nil {
		return nil, err
	}
	users, err := s.named(ctx, by, grants)
	if err != nil {
		return nil, err
	}
	// The workspace is locked before the template, as in invite.
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if err := tx.Workspaces.Lock(ctx, by.Org, by.Workspace); err != nil {
			return err
		}
		if _, err := tx.Chats.UpdateFor(ctx, by, id, users, func(t *chat.Template, p []chat.Party) (err error) {
			changes, err = t.ChangeMembers(by, p, grants)
			return err
		}); err != nil {
			return err
		}
		for _, c := range changes {
			if c.Action != chat.MemberRemoved || !c.Member.Invited {
				continue
			}
			if err := endUnusedInvitation(ctx, tx, by, c.Member.User); err != nil {
				return err
			}
		}
		return nil
	})
	return changes, err
}

// named returns the users of grants, in their order.
func (s *Service) named(ctx context.Context, by identity.Actor, grants []chat.Grant) ([]identity.UserID, error) {
	users := make([]identity.UserID, len(grants))
	var unknown []error
	for i, g := range grants {
		users[i] = g.User
		if g.User != "" {
			continue
		}
		var err error
		if users[i], err = s.deps.Users.Member(ctx, by.Workspace, "", g.Email); err != nil {
			return nil, err
		}
		if users[i] == "" {
			unknown = append(unknown, chat.UnknownMember(i))
		}
	}
	return users, fault.Join(unknown...)
}

// endUnusedInvitation ends the invitation that reserves user, unless another chat template waits for it or it has
// another purpose.
func endUnusedInvitation(ctx context.Context, tx ports.Stores, by identity.Actor, user identity.UserID) error {
	others, err := tx.Chats.Invited(ctx, by.Workspace, user)
	if err != nil || len(others) > 0 {
		return err
	}
	return tx.Invitations.Update(ctx, by, by.Workspace, account.InvitationFor(user),
		func(_ *account.Workspace, i *account.Invitation) error {
			if i != nil {
				i.Lapse(by)
			}
			return nil
		})
}
