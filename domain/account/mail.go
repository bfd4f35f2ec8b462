package account

import (
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// MailPause is the minimum time between two mails from a workspace to an invitation's address.
const MailPause = 10 * time.Minute

// MailLimits bound the mails about invitations. An invitation beyond the limits is still created and
// its link returned, but not mailed. The zero MailLimits send no mail.
type MailLimits struct {
	WorkspacePerDay int // from one workspace, within 24 hours
	UserPerHour     int // from one person or program in all of an org's workspaces, within an hour
	AddressPerDay   int // to one mailbox from all of an org's workspaces, within 24 hours
}

// Sent holds the facts that the limits of invitations and their mails depend on. Mails count when they
// were sent: withdrawing an invitation does not reduce the count.
type Sent struct {
	Open int // how many invitations can still be accepted
	// Unconfirmed reports whether the address of the inviter is not confirmed or, if that is a program, the address of
	// someone who made or kept its keys.
	Unconfirmed bool
	MailedAt    time.Time // when the workspace last mailed the address; zero: never

	// When mails were sent, oldest first.
	Workspace, User, Address []time.Time
}

// Mail decides whether the link of i, which w has just invited by, is mailed, and counts it in w.Sent if so.
// Nothing is mailed to an address that names a machine instead of a public domain.
func (w *Workspace) Mail(by identity.Actor, i *Invitation, l MailLimits) {
	s := &w.Sent
	s.Workspace, s.User, s.Address = sentWithin(s.Workspace, day, by.At), sentWithin(s.User, time.Hour, by.At),
		sentWithin(s.Address, day, by.At)
	if !public(i.Email) || by.At.Sub(s.MailedAt) < MailPause ||
		len(s.Workspace) >= l.WorkspacePerDay || len(s.User) >= l.UserPerHour || len(s.Address) >= l.AddressPerDay {
		return
	}
	i.MailedAt, s.MailedAt = by.At, by.At
	s.Workspace, s.User, s.Address = append(s.Workspace, by.At), append(s.User, by.At), append(s.Address, by.At)
}

const day = 24 * time.Hour

// sentWithin returns the times in sent that are at most window before now.
func sentWithin(times []time.Time, window time.Duration, now time.Time) []time.Time {
	for len(times) > 0 && !times[0].After(now.Add(-window)) {
		times = times[1:]
	}
	return times
}

// Mailbox returns a form that all spellings of one mailbox's address share: EmailKey without the part of the local part
// after a plus, which most servers ignore, and at Gmail without dots. It is only for counting mails. It never
// identifies a user.
func Mailbox(email string) string {
	key := EmailKey(email)
	separator := strings.LastIndex(key, "@")
	if separator < 0 {
		return key
	}
	local, domain := key[:separator], key[separator+1:]
	if plus := strings.Index(local, "+"); plus > 0 {
		local = local[:plus]
	}
	if domain == "googlemail.com" {
		domain = "gmail.com"
	}
	if domain == "gmail.com" {
		local = strings.ReplaceAll(local, ".", "")
	}
	return local + "@" + domain
}
