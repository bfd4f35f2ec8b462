package account

import (
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/secret"
)

// InvitationPrefix begins an invitation's identifier.
const InvitationPrefix = "inv"

const (
	// InvitationLasts is the time within which an invitation can be accepted.
	InvitationLasts = 7 * 24 * time.Hour

	// MaxInvitations is a workspace's maximum number of open, unexpired invitations.
	MaxInvitations = 200
)

// Errors about invitations.
var (
	ErrInvitationNotFound = &fault.Error{Kind: fault.NotFound, Code: "invitation_not_found",
		Detail: "There is no such invitation. It may have been used, renewed or withdrawn, or its author may no " +
			"longer invite people."}
	ErrInvitationExpired = &fault.Error{Kind: fault.Conflict, Code: "invitation_expired",
		Detail: "The invitation has expired. Ask for a new one."}
	ErrInvitationEmail = &fault.Error{Kind: fault.Forbidden, Code: "invitation_email_mismatch",
		Detail: "The invitation is for another e-mail address, or yours is not verified."}
	ErrAlreadyMember = &fault.Error{Kind: fault.Conflict, Code: "already_member",
		Detail: "That person is already a member of the workspace."}
	ErrTooManyInvitations = &fault.Error{Kind: fault.Conflict, Code: "quota_exceeded",
		Detail: "The workspace already has 200 open invitations. Withdraw one, or wait until some are accepted."}
	ErrSignInMissing = &fault.Error{Kind: fault.Conflict, Code: "sign_in_not_configured",
		Detail: "No one can sign in to this organisation because no issuer is configured."}
)

// InvitationID identifies an invitation.
type InvitationID string

// Invitation asks an e-mail address's owner to join a workspace. Its token is shown once and works once.
type Invitation struct {
	event.Log
	ID        InvitationID
	Org       identity.OrgID
	Workspace identity.WorkspaceID
	Email     string
	Role      identity.Role
	Guest     bool              // created for an object in the workspace, and ends with it (Lapse)
	Groups    []identity.UserID // that the person joins on accepting, as far as they exist then
	Hash      Hash
	KeepLinks bool      // the links before Hash work too: it was renewed for another object
	MailedAt  time.Time // when the workspace last mailed the address; zero: never
	InvitedBy identity.UserID
	ExpiresAt time.Time
	Accepted  bool
	Withdrawn bool
	Revision  int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Expired reports whether i can no longer be accepted: at ExpiresAt and later.
func (i *Invitation) Expired(now time.Time) bool { return !now.Before(i.ExpiresAt) }

// AcceptURL returns an invitation's link to a workspace of org: at its configured address, never one from a request.
func AcceptURL(org *identity.Org, t Token) string {
	template := org.AcceptURL
	if template == "" {
		template = org.BaseURL + "/console/join#token={token}"
	}
	return strings.ReplaceAll(template, "{token}", t.Reveal())
}

// Seats returns the limits that an invitation of an address counts for, if i is the open invitation that
// it renews: none if i has not expired, because i counts already. A nil i is no invitation.
func (i *Invitation) Seats(now time.Time) []quota.Kind {
	if i != nil && !i.Expired(now) {
		return nil
	}
	return []quota.Kind{quota.Members}
}

// Mailed reports whether the current link is mailed. Workspace.Mail decides that.
func (i *Invitation) Mailed() bool { return i.MailedAt.Equal(i.UpdatedAt) }

// InvitationPage is one page of invitations.
type InvitationPage = page.Of[Invitation]

// Invite invites an address to w. member is the member with that address, if there is one. pending is
// the open invitation to it, which gets a new token; its old link stops working. Requires the admin
// role, and a confirmed address: ErrAddressUnconfirmed. Admins can invite up to their own role, and can only replace
// invitations up to that role. Mail decides whether the link is mailed.
func (w *Workspace) Invite(by identity.Actor, email string, role identity.Role, member identity.UserID,
	pending *Invitation) (*Invitation, Token, error) {
	if err := w.Allow(by, identity.Admin); err != nil {
		return nil, Token{}, err
	}
	if w.Sent.Unconfirmed {
		return nil, Token{}, ErrAddressUnconfirmed
	}
	errs := emailFaults(email)
	if role == identity.NoRole {
		errs = append(errs, noRole)
	}
	if err := fault.InvalidFields(errs); err != nil {
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
		i = &Invitation{ID: InvitationID(id.New(InvitationPrefix)), Org: w.Org, Workspace: w.ID, Email: email,
			CreatedAt: by.At}
	}
	i.Role, i.Guest, i.Hash, i.InvitedBy, i.ExpiresAt = role, false, token.Hash(), by.User, by.At.Add(InvitationLasts)
	i.Revision++
	i.UpdatedAt = by.At
	i.MailedAt = w.Sent.MailedAt
	i.record(by, kind, map[string]any{"role": role.String()})
	return i, token, nil
}

// InviteGuest is Invite for an object in w: the person joins as a viewer, or with the role of the open
// invitation that this one renews.
func (w *Workspace) InviteGuest(by identity.Actor, email string, member identity.UserID,
	pending *Invitation) (*Invitation, Token, error) {
	role, guest, open := identity.Viewer, true, pending != nil && !pending.Expired(by.At)
	if open {
		role, guest = pending.Role, pending.Guest
	}
	i, token, err := w.Invite(by, email, role, member, pending)
	if err == nil {
		i.Guest, i.KeepLinks = guest, open
	}
	return i, token, err
}

// Reserved returns the user id reserved for the invited person until they accept. It contains the
// invitation's UUID, so no other user has it.
func (i InvitationID) Reserved() identity.UserID {
	return identity.UserID(strings.Replace(string(i), InvitationPrefix, identity.UserPrefix, 1))
}

// InvitationFor returns the invitation that a user id is reserved for. The result exists only if the id
// is reserved.
func InvitationFor(placeholder identity.UserID) InvitationID {
	return InvitationID(strings.Replace(string(placeholder), identity.UserPrefix, InvitationPrefix, 1))
}

// Withdraw ends an invitation. Requires the admin role. Admins can end invitations up to their own
// role.
func (w *Workspace) Withdraw(by identity.Actor, match revision.Match, i *Invitation) error {
	if err := w.Allow(by, identity.Admin); err != nil {
		return err
	}
	switch {
	case i == nil || i.Workspace != w.ID || i.Accepted || i.Withdrawn:
		return ErrInvitationNotFound
	case i.Role > w.RoleOf(by):
		return identity.ErrRoleCeiling.Because("You cannot end an invitation to a role higher than your own.")
	}
	if err := match.Check(i.Revision); err != nil {
		return err
	}
	i.withdraw(by)
	return nil
}

// Lapse ends a guest's invitation after by removed the last object that it was made for. The right to
// remove that object is the right to end the invitation. Other invitations stay.
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

// vouched reports whether the user who created i could still create it. An invitation ends as soon as its creator loses
// the right to invite, and an invitation by a service key as soon as its keys are revoked or suspended.
func (w *Workspace) vouched(i *Invitation) bool {
	return !w.Retired[i.InvitedBy] && i.vouchedBy(w.Members[i.InvitedBy].Role)
}

func (i *Invitation) vouchedBy(inviter identity.Role) bool {
	return inviter >= max(identity.Admin, i.Role)
}

// Pending is an open invitation to a person who signs in for the first time.
type Pending struct {
	Invitation
	Inviter identity.Role // the inviter's current role in the workspace of the invitation
}

// Vouched reports whether the inviter could still create the invitation.
func (p *Pending) Vouched() bool { return p.vouchedBy(p.Inviter) }

// admits reports whether the invited person could accept now.
func (p *Pending) admits(now time.Time) bool { return !p.Expired(now) && p.vouchedBy(p.Inviter) }

// Accept makes by a member, unless the invitation is a guest's and by is a member already. by must be
// signed in with the verified address: an API key cannot accept, because anyone may hold it. Accept
// also fails if the inviter has lost the right to invite. After a refusal the invitation stays open for
// the right person.
func (w *Workspace) Accept(by identity.Actor, u *User, i *Invitation) error {
	switch {
	case i == nil || i.Accepted || i.Withdrawn || !w.DeletedAt.IsZero() || !w.vouched(i):
		return ErrInvitationNotFound
	case by.Key != "", !u.EmailVerified, EmailKey(u.Email) != EmailKey(i.Email):
		return ErrInvitationEmail
	case i.Expired(by.At):
		return ErrInvitationExpired
	case w.madeBy(i.InvitedBy, u.ID): // a service key of someone who lost their role must not bring them back
		return ErrInvitationNotFound
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
	w.set(by, u.ID, standing{role: i.Role, byHand: i.Role}, keysEnd)
	w.record(by, "member.added", map[string]any{"user_id": u.ID, "role": i.Role.String()})
	return nil
}

// record adds an event. It leaves out the address, which does not belong in an audit trail that is
// stored for years.
func (i *Invitation) record(by identity.Actor, kind string, data map[string]any) {
	by.Workspace = i.Workspace
	i.Record(by, kind, string(i.ID), data)
}
