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

// MaxMembers is how many members one template can have in addition to its owner.
const MaxMembers = 200

// Member is a user's role on one template.
type Member struct {
	User      identity.UserID // while Invited, a reserved id that belongs to no user yet
	Email     string          // the invited address, or the account's; empty for the bearer of a service key
	Name      string
	Role      access.Role // NoRole removes the member when it is saved; Owner only in lists
	Invited   bool        // has not accepted, and has no access yet
	InvitedBy identity.UserID
	Revision  int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// MemberPage is one page of members.
type MemberPage = page.Of[Member]

// Grant is a role for a user or an address. Exactly one of User and Email is set.
type Grant struct {
	User  identity.UserID
	Email string
	Role  access.Role // Viewer to Manager
}

// Add makes user, the target of the grant, a member.
func (t *Template) Add(by identity.Actor, user identity.UserID, g Grant) (Member, error) {
	if err := t.MayAdd(by, user, g); err != nil {
		return Member{}, err
	}
	_, known := t.Members[user]
	switch {
	case known, user == t.Owner:
		return Member{}, ErrAlreadyMember
	case !t.InWorkspace[user]:
		return Member{}, ErrUserNotInWorkspace
	case t.MemberCount >= MaxMembers:
		return Member{}, ErrMemberLimit
	}
	t.join(Member{User: user, Role: g.Role, InvitedBy: by.User}, by.At)
	t.Record(by, "chat_member.added", string(t.ID), map[string]any{"user_id": user, "role": g.Role.String()})
	return t.Members[user], nil
}

// MayAdd returns nil if by may give g to user, a member of the workspace, or, if user is empty, to the
// person with the grant's address. Only admins of the workspace can invite people from outside.
func (t *Template) MayAdd(by identity.Actor, user identity.UserID, g Grant) error {
	if err := t.Allow(by, access.Manager); err != nil {
		return err
	}
	switch {
	case (g.User == "") == (g.Email == ""):
		return fault.InvalidFields([]fault.Field{{Pointer: "/user_id", Code: "required", Detail: "Must have either user_id or email."}})
	case user == "" && g.Email != "" && by.Role < identity.Admin:
		return ErrInvitationRole
	}
	return nil
}

// Invite makes a person outside the workspace an invited member, who becomes active by accepting. user
// is the id that their invitation reserves. If the person has been invited to t already, they get the
// new role.
func (t *Template) Invite(by identity.Actor, user identity.UserID, g Grant) (Member, error) {
	if err := t.MayAdd(by, "", g); err != nil {
		return Member{}, err
	}
	m, again := t.Members[user]
	switch {
	case again:
		t.Record(by, "chat_member.invitation_renewed", string(t.ID), map[string]any{"user_id": user, "role": event.Change{From: m.Role.String(), To: g.Role.String()}})
		m.Role, m.InvitedBy, m.UpdatedAt = g.Role, by.User, by.At
		m.Revision++
		t.Members[user] = m
		return m, nil
	case t.MemberCount >= MaxMembers:
		return Member{}, ErrMemberLimit
	}
	t.join(Member{User: user, Email: g.Email, Role: g.Role, Invited: true, InvitedBy: by.User}, by.At)
	t.Record(by, "chat_member.invited", string(t.ID), map[string]any{"user_id": user, "role": g.Role.String()})
	return t.Members[user], nil
}

// Accept transfers the membership of an invited member to by, who accepted the invitation and so needs
// no access yet. If by has a role already, the higher one stays.
func (t *Template) Accept(by identity.Actor, reserved identity.UserID) {
	invited, ok := t.Members[reserved]
	if !ok || !invited.Invited {
		return
	}
	t.leave(reserved)
	t.Record(by, "chat_member.accepted", string(t.ID), map[string]any{"user_id": event.Change{From: reserved, To: by.User}, "role": invited.Role.String()})
	if by.User == t.Owner {
		return
	}
	m, known := t.Members[by.User]
	if !known {
		t.join(Member{User: by.User, Role: invited.Role, InvitedBy: invited.InvitedBy}, by.At)
		return
	}
	if invited.Role > m.Role {
		m.Role, m.UpdatedAt = invited.Role, by.At
		m.Revision++
		t.Members[by.User] = m
	}
}

// Disinvite removes an invited member whose invitation by has ended.
func (t *Template) Disinvite(by identity.Actor, reserved identity.UserID) {
	if m, ok := t.Members[reserved]; ok && m.Invited {
		t.leave(reserved)
		t.Record(by, "chat_member.removed", string(t.ID), map[string]any{"user_id": reserved, "role": m.Role.String()})
	}
}

// ChangeMember gives a member another role.
func (t *Template) ChangeMember(by identity.Actor, at revision.Match, user identity.UserID, to access.Role) (Member, error) {
	if err := t.Allow(by, access.Manager); err != nil {
		return Member{}, err
	}
	m, err := t.member(at, user)
	if err != nil {
		return Member{}, err
	}
	if to == m.Role {
		return m, nil
	}
	t.Record(by, "chat_member.updated", string(t.ID), map[string]any{"user_id": user, "role": event.Change{From: m.Role.String(), To: to.String()}})
	m.Role, m.UpdatedAt = to, by.At
	m.Revision++
	t.Members[user] = m
	return m, nil
}

// Remove ends a membership, or withdraws an invitation. Requires the manager role; every member may
// leave.
func (t *Template) Remove(by identity.Actor, at revision.Match, user identity.UserID) (Member, error) {
	need := access.Manager
	if user == by.User && !by.ReadOnly() {
		need = access.Viewer
	}
	if err := t.Allow(by, need); err != nil {
		return Member{}, err
	}
	m, err := t.member(at, user)
	if err != nil {
		return Member{}, err
	}
	t.leave(user)
	t.Record(by, "chat_member.removed", string(t.ID), map[string]any{"user_id": user, "role": m.Role.String()})
	return m, nil
}

// member returns the member that a change applies to.
func (t *Template) member(at revision.Match, user identity.UserID) (Member, error) {
	if user == t.Owner {
		return Member{}, ErrOwnerStays
	}
	m, ok := t.Members[user]
	if !ok {
		return Member{}, ErrMemberNotFound
	}
	return m, at.Check(m.Revision)
}

func (t *Template) join(m Member, now time.Time) {
	m.Revision, m.CreatedAt, m.UpdatedAt = 1, now, now
	t.Members[m.User] = m
	t.MemberCount++
}

func (t *Template) leave(user identity.UserID) {
	if m, ok := t.Members[user]; ok && m.Role != access.None {
		m.Role = access.None
		t.Members[user] = m
		t.MemberCount--
	}
}
