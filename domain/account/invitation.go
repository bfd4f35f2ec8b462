package account

import (
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
)

// InvitationPrefix begins an invitation's identifier.
const InvitationPrefix = "inv"

// InvitationLasts is how long an invitation can be accepted.
const InvitationLasts = 7 * 24 * time.Hour

// What can go wrong with invitations.
var (
	ErrInvitationNotFound = &fault.Error{Kind: fault.NotFound, Code: "invitation_not_found", Detail: "There is no such invitation; it may have been used, renewed or withdrawn."}
	ErrInvitationExpired  = &fault.Error{Kind: fault.Conflict, Code: "invitation_expired", Detail: "The invitation has expired. Ask for another one."}
	ErrInvitationEmail    = &fault.Error{Kind: fault.Forbidden, Code: "invitation_email_mismatch", Detail: "The invitation is for another e-mail address, or yours is not verified."}
	ErrAlreadyMember      = &fault.Error{Kind: fault.Conflict, Code: "already_member", Detail: "That person is a member of the workspace already."}
	ErrSignInMissing      = &fault.Error{Kind: fault.Conflict, Code: "sign_in_not_configured", Detail: "Nobody can sign in to this organisation: no issuer is configured."}
)

// InvitationID identifies an invitation.
type InvitationID string

// Invitation asks the owner of an e-mail address into a workspace. Its token is shown once, and
// works once.
type Invitation struct {
	event.Log
	ID        InvitationID
	Org       identity.OrgID
	Workspace identity.WorkspaceID
	Email     string
	Role      identity.Role
	Hash      Hash
	InvitedBy identity.UserID
	ExpiresAt time.Time
	Accepted  bool
	Withdrawn bool
	Revision  int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Expired reports whether i can no longer be accepted: from ExpiresAt on.
func (i *Invitation) Expired(now time.Time) bool { return !now.Before(i.ExpiresAt) }

// InvitationPage is one page of invitations.
type InvitationPage = page.Of[Invitation]

// Invite asks somebody into w: member is who that is, if they are one already, and pending their
// open invitation, which is sent anew under a new token; the old link ends. Admins may, up to
// their own role, which also bounds what they may end.
func (w *Workspace) Invite(by identity.Actor, email string, role identity.Role, member identity.UserID, pending *Invitation) (*Invitation, Token, error) {
	if err := w.Allow(by, identity.Admin); err != nil {
		return nil, Token{}, err
	}
	var wrong []fault.Field
	if !validEmail(email) {
		wrong = append(wrong, fault.Field{Pointer: "/email", Code: "invalid_format", Detail: "Must be an e-mail address."})
	}
	if role == identity.NoRole {
		wrong = append(wrong, noRole)
	}
	if err := fault.InvalidFields(wrong); err != nil {
		return nil, Token{}, err
	}
	switch {
	case role > w.RoleOf(by), pending != nil && pending.Role > w.RoleOf(by) && !pending.Expired(by.At):
		return nil, Token{}, identity.ErrRoleCeiling
	case member != "":
		return nil, Token{}, ErrAlreadyMember
	}
	token, kind := newToken(invitationTokenPrefix), "invitation.renewed"
	i := pending
	if i == nil {
		kind = "invitation.created"
		i = &Invitation{ID: InvitationID(id.New(InvitationPrefix)), Org: w.Org, Workspace: w.ID, Email: email, CreatedAt: by.At}
	}
	i.Role, i.Hash, i.InvitedBy, i.ExpiresAt = role, token.Hash(), by.User, by.At.Add(InvitationLasts)
	i.Revision++
	i.UpdatedAt = by.At
	i.record(by, kind, map[string]any{"role": role.String()})
	return i, token, nil
}

// Withdraw ends an invitation. Admins may, up to their own role.
func (w *Workspace) Withdraw(by identity.Actor, at revision.Match, i *Invitation) error {
	if err := w.Allow(by, identity.Admin); err != nil {
		return err
	}
	switch {
	case i == nil || i.Workspace != w.ID || i.Accepted || i.Withdrawn:
		return ErrInvitationNotFound
	case i.Role > w.RoleOf(by):
		return identity.ErrRoleCeiling
	}
	if err := at.Check(i.Revision); err != nil {
		return err
	}
	i.Withdrawn = true
	i.Revision++
	i.UpdatedAt = by.At
	i.record(by, "invitation.withdrawn", nil)
	return nil
}

// Accept makes by a member. Only whoever signs in with the verified address may: by an API key,
// which anybody may hold, nobody can. A refusal leaves the invitation open for the right person.
func (w *Workspace) Accept(by identity.Actor, u *User, i *Invitation) error {
	switch {
	case i == nil || i.Accepted || i.Withdrawn || !w.DeletedAt.IsZero():
		return ErrInvitationNotFound
	case by.Key != "", !u.EmailVerified, EmailKey(u.Email) != EmailKey(i.Email):
		return ErrInvitationEmail
	case i.Expired(by.At):
		return ErrInvitationExpired
	}
	if _, member := w.Members[u.ID]; member {
		return ErrAlreadyMember
	}
	i.Accepted = true
	i.Revision++
	i.UpdatedAt = by.At
	w.set(u.ID, i.Role, i.Role, by.At)
	i.record(by, "invitation.accepted", map[string]any{"user_id": u.ID, "role": i.Role.String()})
	w.record(by, "member.added", map[string]any{"user_id": u.ID, "role": i.Role.String()})
	return nil
}

// record adds an event; the address itself is nobody's business in an audit trail of years.
func (i *Invitation) record(by identity.Actor, kind string, data map[string]any) {
	by.Workspace = i.Workspace
	i.Record(by, kind, string(i.ID), data)
}
