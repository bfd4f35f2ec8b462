package chat

import (
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
)

// MaxMembers is a template's maximum number of members in addition to its owner.
const MaxMembers = 200

// Member is a user's role on one template.
type Member struct {
	User      identity.UserID // while Invited, a reserved id that belongs to no user yet
	Email     string          // the invited address, or the account's; empty for a service key's bearer
	Name      string
	Role      access.Role // None removes the member when it is saved; Owner only in lists
	Invited   bool        // has not accepted, and has no access yet
	InvitedBy identity.UserID
	Revision  int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Party is a user named by a template change, as the store knows them at that moment.
type Party struct {
	User        identity.UserID
	InWorkspace bool    // a member of the workspace
	Member      *Member // of the template; nil: none
	Members     int     // how many members the template has, without its owner
}

// MemberPage is one page of members.
type MemberPage = page.Of[Member]

// Grant is a role for a user or an address. Exactly one of User and Email is set.
type Grant struct {
	User  identity.UserID
	Email string
	Role  access.Role // Viewer to Manager
}

// Add makes to, the target of the grant, a member.
func (t *Template) Add(by identity.Actor, party Party, g Grant) (Member, error) {
	if err := t.MayAdd(by, party.User, g); err != nil {
		return Member{}, err
	}
	if party.Member != nil || party.User == t.Owner {
		return Member{}, ErrAlreadyMember
	}
	return t.add(by, party, g.Role)
}

// add makes to, who is no member, a member.
func (t *Template) add(by identity.Actor, party Party, role access.Role) (Member, error) {
	switch {
	case !party.InWorkspace:
		return Member{}, ErrUserNotInWorkspace
	case party.Members >= MaxMembers:
		return Member{}, ErrMemberLimit
	}
	m := t.join(Member{User: party.User, Role: role, InvitedBy: by.User}, by.At)
	t.Record(by, "chat_member.added", string(t.ID), map[string]any{"user_id": m.User, "role": role.String()})
	return m, nil
}

// MayAdd returns nil if by may give g to user, a member of the workspace, or, if user is empty, to the
// person with the grant's address. Only admins of the workspace can invite people from outside.
func (t *Template) MayAdd(by identity.Actor, user identity.UserID, g Grant) error {
	if err := t.Allow(by, access.Manager); err != nil {
		return err
	}
	if err := g.check(); err != nil {
		return err
	}
	if user == "" && g.Email != "" && by.Role < identity.Admin {
		return ErrInvitationRole
	}
	return nil
}

func (g Grant) check() error {
	if (g.User == "") == (g.Email == "") {
		return fault.InField("/user_id", "required", "Must have either user_id or email.")
	}
	return nil
}

// Invite makes a person outside the workspace an invited member, who becomes active by accepting. party has
// the id that their invitation reserves. If the person has been invited to t already, they get the new
// role.
func (t *Template) Invite(by identity.Actor, party Party, g Grant) (Member, error) {
	if err := t.MayAdd(by, "", g); err != nil {
		return Member{}, err
	}
	switch {
	case party.Member != nil:
		m := *party.Member
		t.Record(by, "chat_member.invitation_renewed", string(t.ID),
			map[string]any{"user_id": m.User, "role": event.Change{From: m.Role.String(), To: g.Role.String()}})
		m.InvitedBy = by.User
		return t.changeRole(m, g.Role, by.At), nil
	case party.Members >= MaxMembers:
		return Member{}, ErrMemberLimit
	}
	m := t.join(Member{User: party.User, Email: g.Email, Role: g.Role, Invited: true, InvitedBy: by.User}, by.At)
	t.Record(by, "chat_member.invited", string(t.ID), map[string]any{"user_id": m.User, "role": g.Role.String()})
	return m, nil
}

// Accept transfers an invited member's membership to by, who accepted the invitation and so needs no access yet. caller
// is what the store knows of by. If by has a role already, the higher one stays.
func (t *Template) Accept(by identity.Actor, invitee, caller Party) {
	if invitee.Member == nil || !invitee.Member.Invited {
		return
	}
	place := *invitee.Member
	t.leave(invitee)
	t.Record(by, "chat_member.accepted", string(t.ID),
		map[string]any{"user_id": event.Change{From: place.User, To: by.User}, "role": place.Role.String()})
	switch {
	case by.User == t.Owner:
	case caller.Member == nil:
		t.join(Member{User: by.User, Role: place.Role, InvitedBy: place.InvitedBy}, by.At)
	case place.Role > caller.Member.Role:
		t.changeRole(*caller.Member, place.Role, by.At)
	}
}

// Disinvite removes an invited member whose invitation by has ended.
func (t *Template) Disinvite(by identity.Actor, invitee Party) {
	if m := invitee.Member; m != nil && m.Invited {
		t.remove(by, invitee)
	}
}

// ChangeMember gives a member another role.
func (t *Template) ChangeMember(by identity.Actor, match revision.Match, party Party, role access.Role) (Member,
	error) {
	if err := t.Allow(by, access.Manager); err != nil {
		return Member{}, err
	}
	m, err := t.member(match, party)
	if err != nil || role == m.Role {
		return m, err
	}
	return t.update(by, m, role), nil
}

// update gives m, a member, another role.
func (t *Template) update(by identity.Actor, m Member, role access.Role) Member {
	t.Record(by, "chat_member.updated", string(t.ID),
		map[string]any{"user_id": m.User, "role": event.Change{From: m.Role.String(), To: role.String()}})
	return t.changeRole(m, role, by.At)
}

// Remove ends a membership, or withdraws an invitation. Requires the manager role; every member may
// leave.
func (t *Template) Remove(by identity.Actor, match revision.Match, party Party) (Member, error) {
	need := access.Manager
	if party.User == by.User && !by.ReadOnly() {
		need = access.Viewer
	}
	if err := t.Allow(by, need); err != nil {
		return Member{}, err
	}
	m, err := t.member(match, party)
	if err != nil {
		return Member{}, err
	}
	t.remove(by, party)
	return m, nil
}

// remove ends a member's membership.
func (t *Template) remove(by identity.Actor, party Party) {
	m := party.Member
	t.leave(party)
	t.Record(by, "chat_member.removed", string(t.ID), map[string]any{"user_id": m.User, "role": m.Role.String()})
}

// member returns the member that a change applies to.
func (t *Template) member(match revision.Match, party Party) (Member, error) {
	switch {
	case party.User == t.Owner:
		return Member{}, ErrOwnerStays
	case party.Member == nil:
		return Member{}, ErrMemberNotFound
	}
	if err := match.Check(party.Member.Revision); err != nil {
		return Member{}, err
	}
	return *party.Member, nil
}

func (t *Template) join(m Member, now time.Time) Member {
	m.Revision, m.CreatedAt, m.UpdatedAt = 1, now, now
	t.save(m)
	return m
}

func (t *Template) changeRole(m Member, role access.Role, now time.Time) Member {
	m.Role, m.UpdatedAt = role, now
	m.Revision++
	t.save(m)
	return m
}

func (t *Template) leave(p Party) {
	if p.Member != nil {
		t.save(Member{User: p.User})
	}
}

// save keeps a member for the store.
func (t *Template) save(m Member) {
	t.ChangedMembers = append(t.ChangedMembers, m)
	role := m.Role
	if m.Invited {
		role = access.None
	}
	t.Grants.Set(access.Grant{User: m.User, Role: role})
}
