package account

import (
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/secret"
)

// InvitationPrefix begins an invitation's identifier.
const InvitationPrefix = "inv"

const (
	// InvitationLasts is how long an invitation can be accepted.
	InvitationLasts = 7 * 24 * time.Hour

	// MaxInvitations is how many invitations of a workspace can be open, and not have expired.
	MaxInvitations = 200
)

// What can go wrong with invitations.
var (
	ErrInvitationNotFound = &fault.Error{Kind: fault.NotFound, Code: "invitation_not_found", Detail: "There is no such invitation. It may have been used, renewed or withdrawn, or its author may no longer invite people."}
	ErrInvitationExpired  = &fault.Error{Kind: fault.Conflict, Code: "invitation_expired", Detail: "The invitation has expired. Ask for a new one."}
	ErrInvitationEmail    = &fault.Error{Kind: fault.Forbidden, Code: "invitation_email_mismatch", Detail: "The invitation is for another e-mail address, or yours is not verified."}
	ErrAlreadyMember      = &fault.Error{Kind: fault.Conflict, Code: "already_member", Detail: "That person is already a member of the workspace."}
	ErrTooManyInvitations = &fault.Error{Kind: fault.Conflict, Code: "quota_exceeded", Detail: "The workspace already has 200 open invitations. Withdraw one, or wait until some are accepted."}
	ErrSignInMissing      = &fault.Error{Kind: fault.Conflict, Code: "sign_in_not_configured", Detail: "No one can sign in to this organisation because no issuer is configured."}
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
	Guest     bool // made for something within the workspace, and ends with it (Lapse)
	Hash      Hash
	MailedAt  time.Time // when its address was last mailed for Workspace; zero: never
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

// Mailed reports whether the present link is to be mailed: Workspace.Mail decides.
func (i *Invitation) Mailed() bool { return i.MailedAt.Equal(i.UpdatedAt) }

// InvitationPage is one page of invitations.
type InvitationPage = page.Of[Invitation]

// Invite asks somebody into w: member is who that is, if they are one already, and pending their
// open invitation, which is sent anew under a new token; the old link ends. Admins may, up to
// their own role, which also bounds what they may end. Mail decides whether the link is mailed.
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
	case w.Sent.Open >= MaxInvitations && (pending == nil || pending.Expired(by.At)):
		return nil, Token{}, ErrTooManyInvitations
	}
	token, kind := secret.NewToken(invitationTokenPrefix), "invitation.renewed"
	i := pending
	if i == nil {
		kind = "invitation.created"
		i = &Invitation{ID: InvitationID(id.New(InvitationPrefix)), Org: w.Org, Workspace: w.ID, Email: email, CreatedAt: by.At}
	}
	i.Role, i.Guest, i.Hash, i.InvitedBy, i.ExpiresAt = role, false, token.Hash(), by.User, by.At.Add(InvitationLasts)
	i.Revision++
	i.UpdatedAt = by.At
	i.MailedAt = w.Sent.MailedAt
	i.record(by, kind, map[string]any{"role": role.String()})
	return i, token, nil
}

// InviteGuest is Invite for the sake of something within w: whoever accepts joins as a viewer, or in
// the role of the open invitation that this one renews.
func (w *Workspace) InviteGuest(by identity.Actor, email string, member identity.UserID, pending *Invitation) (*Invitation, Token, error) {
	role, guest := identity.Viewer, true
	if pending != nil && !pending.Expired(by.At) {
		role, guest = pending.Role, pending.Guest
	}
	i, token, err := w.Invite(by, email, role, member, pending)
	if err == nil {
		i.Guest = guest
	}
	return i, token, err
}

// Reserved is the user id that stands for whoever is invited until they accept. It holds the same
// UUID as the invitation's own, and so is nobody else's.
func (i InvitationID) Reserved() identity.UserID {
	return identity.UserID(strings.Replace(string(i), InvitationPrefix, identity.UserPrefix, 1))
}

// InvitationFor is the invitation that a user id is reserved by, if it is reserved at all.
func InvitationFor(reserved identity.UserID) InvitationID {
	return InvitationID(strings.Replace(string(reserved), identity.UserPrefix, InvitationPrefix, 1))
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
		return identity.ErrRoleCeiling.Because("Nobody ends an invitation to a role above their own.")
	}
	if err := at.Check(i.Revision); err != nil {
		return err
	}
	i.withdraw(by)
	return nil
}

// Lapse ends a guest's invitation, since by took away the last of what it was made for: that decides
// who may. Any other invitation stays.
func (i *Invitation) Lapse(by identity.Actor) {
	if i.Guest {
		i.withdraw(by)
	}
}

func (i *Invitation) withdraw(by identity.Actor) {
	i.Withdrawn = true
	i.Revision++
	i.UpdatedAt = by.At
	i.record(by, "invitation.withdrawn", nil)
}

// vouched reports whether who made i could make it still: an invitation ends with the right to
// invite, and not with its maker's next visit.
func (w *Workspace) vouched(i *Invitation) bool { return i.vouchedBy(w.Members[i.InvitedBy].Role) }

func (i *Invitation) vouchedBy(inviter identity.Role) bool {
	return inviter >= max(identity.Admin, i.Role)
}

// Pending is an open invitation to somebody who signs in for the first time.
type Pending struct {
	Invitation
	Inviter identity.Role // of who made it, in the workspace that it is for, by now
}

// letsIn reports whether who is invited could accept now.
func (p *Pending) letsIn(now time.Time) bool { return !p.Expired(now) && p.vouchedBy(p.Inviter) }

// Accept makes by a member, unless a guest's invitation finds one. Only whoever signs in with the
// verified address may: by an API key, which anybody may hold, nobody can, nor after who invited has
// lost the right to. A refusal leaves the invitation open for the right person.
func (w *Workspace) Accept(by identity.Actor, u *User, i *Invitation) error {
	switch {
	case i == nil || i.Accepted || i.Withdrawn || !w.DeletedAt.IsZero() || !w.vouched(i):
		return ErrInvitationNotFound
	case by.Key != "", !u.EmailVerified, EmailKey(u.Email) != EmailKey(i.Email):
		return ErrInvitationEmail
	case i.Expired(by.At):
		return ErrInvitationExpired
	}
	_, member := w.Members[u.ID]
	if member && !i.Guest {
		return ErrAlreadyMember
	}
	i.Accepted = true
	i.Revision++
	i.UpdatedAt = by.At
	i.record(by, "invitation.accepted", map[string]any{"user_id": u.ID, "role": i.Role.String()})
	if member {
		return nil
	}
	w.set(u.ID, i.Role, i.Role, by.At)
	w.record(by, "member.added", map[string]any{"user_id": u.ID, "role": i.Role.String()})
	return nil
}

// record adds an event; the address itself is nobody's business in an audit trail of years.
func (i *Invitation) record(by identity.Actor, kind string, data map[string]any) {
	by.Workspace = i.Workspace
	i.Record(by, kind, string(i.ID), data)
}
