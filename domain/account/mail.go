package account

import (
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// MailPause is how long after a mail about an invitation its address gets no other one from the same
// workspace.
const MailPause = 10 * time.Minute

// MailLimits bound the mails about invitations. An invitation beyond them is made all the same, and its link
// is returned: only the mail is left out. The zero MailLimits send none.
type MailLimits struct {
	WorkspacePerDay int // from one workspace, within 24 hours
	UserPerHour     int // that one person or program sends from all of an org's workspaces, within an hour
	AddressPerDay   int // to one mailbox from all of an org's workspaces, within 24 hours
}

// Sent is what the limits of invitations and their mails depend on, where someone is about to be invited.
// Mails count when they were sent: withdrawing an invitation takes none back.
type Sent struct {
	Open     int       // how many invitations can still be accepted
	MailedAt time.Time // when the workspace mailed the address last; zero: never

	// When mails were sent, oldest first.
	Workspace, User, Address []time.Time
}

// Mail decides whether the link of i, which w has just invited by, is mailed, and counts it in w.Sent if so.
func (w *Workspace) Mail(by identity.Actor, i *Invitation, l MailLimits) {
	s := &w.Sent
	s.Workspace, s.User, s.Address = within(s.Workspace, day, by.At), within(s.User, time.Hour, by.At), within(s.Address, day, by.At)
	if by.At.Sub(s.MailedAt) < MailPause ||
		len(s.Workspace) >= l.WorkspacePerDay || len(s.User) >= l.UserPerHour || len(s.Address) >= l.AddressPerDay {
		return
	}
	i.MailedAt, s.MailedAt = by.At, by.At
	s.Workspace, s.User, s.Address = append(s.Workspace, by.At), append(s.User, by.At), append(s.Address, by.At)
}

const day = 24 * time.Hour

// within returns those of sent that are younger than window.
func within(sent []time.Time, window time.Duration, now time.Time) []time.Time {
	for len(sent) > 0 && !sent[0].After(now.Add(-window)) {
		sent = sent[1:]
	}
	return sent
}

// Mailbox returns what is the same for all spellings of an address that reach one mailbox: EmailKey without
// what follows a plus in the local part, which most servers deliver to the same person; at Gmail also without
// dots, which it ignores. It only counts mails: it never decides who someone is.
func Mailbox(email string) string {
	key := EmailKey(email)
	at := strings.LastIndex(key, "@")
	if at < 0 {
		return key
	}
	local, domain := key[:at], key[at+1:]
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
