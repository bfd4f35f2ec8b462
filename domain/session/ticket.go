package session

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
)

// A ticket replaces a credential where none can be sent: browsers open event streams without custom
// headers. It opens one stream, within one minute, and that stream ends with the credential. A reader who has received
// that stream can resume it with the same ticket, as EventSource does.
const (
	ticketPrefix = "atp_"
	TicketLife   = time.Minute

	// ResumeWithin is the time within which a ticket can resume the stream that it last opened or resumed.
	ResumeWithin = 24 * time.Hour
)

// Proof is what a caller has proved: possession of a live key or session, or a sign-in at an issuer. It is not the
// credential itself and cannot be used to authenticate.
type Proof struct {
	Key             secret.Hash // zero for a session, and for a person who signed in at an issuer
	Session         secret.Hash // of the session's cookie; zero for another credential
	Issuer, Subject string
	Until           time.Time // when a sign-in's token ends; a key has its own end

	Workspace identity.WorkspaceID // where the caller acts; empty: nowhere, or where the key does
}

// Valid reports whether p is still valid in org, and its bearer still a member of its workspace. principal is its
// current one, or nil.
func (p Proof) Valid(org *identity.Org, principal *Principal, now time.Time) bool {
	switch {
	case principal == nil || !principal.User.Enabled():
		return false
	case p.Workspace != "" && (principal.Membership.Workspace.ID != p.Workspace ||
		principal.Membership.Role == identity.NoRole):
		return false
	case p.Session != secret.Hash{}:
		return principal.LiveSession(org, now)
	case p.Issuer == "":
		return principal.Live(org.Keys, now)
	}
	return now.Before(p.Until) && slices.ContainsFunc(org.Issuers,
		func(i identity.Issuer) bool { return i.URL == p.Issuer })
}

// Ticket is a stored ticket.
type Ticket struct {
	Org       identity.OrgID
	Hash      secret.Hash
	Proof     Proof
	ExpiresAt time.Time
}

// NewTicket returns a ticket for a caller who has shown proof in org.
func NewTicket(org identity.OrgID, p Proof, now time.Time) (secret.Token, Ticket) {
	t := secret.NewToken(ticketPrefix)
	return t, Ticket{Org: org, Hash: t.Hash(), Proof: p, ExpiresAt: now.Add(TicketLife)}
}

// ParseTicket checks a ticket's form and checksum, so that an invalid one costs no look-up.
func ParseTicket(s string) (secret.Token, bool) { return secret.ParseToken(ticketPrefix, s) }
