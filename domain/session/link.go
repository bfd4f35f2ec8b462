package session

import (
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
)

// LinkLife is a sign-in link's lifetime.
const LinkLife = 15 * time.Minute

// ErrLinkInvalid is returned for a token that opens no session, whatever the reason.
var ErrLinkInvalid = &fault.Error{
	Kind: fault.Unauthenticated, Code: "sign_in_link_invalid",
	Detail: "The sign-in link was used, has expired, or never existed. Ask for a new one.",
}

// Link opens one session of a user. Its token is in a link, shown or mailed once, or is the code for a sign-in at a
// provider.
type Link struct {
	Org       identity.OrgID
	User      identity.UserID
	Hash      secret.Hash
	From      ProviderSession // zero for a link
	Bound     secret.Hash     // of the secret of the browser that may use the code; zero for a link
	Mailed    bool            // to the user's address
	CreatedAt time.Time
	ExpiresAt time.Time
}

// NewLink returns a link for a user and its token. by is the system. account.ErrUserNotFound if the user is disabled or
// a program's.
func NewLink(by identity.Actor, u *account.User) (secret.Token, *Link, error) {
	if by.User != "" || by.Org != u.Org || !u.Enabled() || u.Service {
		return secret.Token{}, nil, account.ErrUserNotFound
	}
	t := secret.NewToken(linkPrefix)
	return t, &Link{Org: u.Org, User: u.ID, Hash: t.Hash(), CreatedAt: by.At, ExpiresAt: by.At.Add(LinkLife)}, nil
}

// ErrMailNotConfigured is returned for a mailed link where mail cannot be sent.
var ErrMailNotConfigured = &fault.Error{
	Kind: fault.Conflict, Code: "mail_not_configured",
	Detail: "This server cannot send mail. Sign in another way.",
}

// LinkMail is a mail with a sign-in link.
type LinkMail struct {
	At   time.Time
	From string // the group of addresses that asked for it (identity.AddressGroup)
}

// LinkMails are the mails with sign-in links to one mailbox.
type LinkMails struct {
	Sent   []LinkMail // within a day, oldest first
	Usable bool       // whether a mailed link was not used and has not expired
}

const (
	linkPause    = time.Minute // after the first mail that a group of addresses asks for; it doubles with each
	maxLinkPause = LinkLife    // the longest pause: who shares a stranger's address waits no longer
	linksPerHour = 10          // mails to one mailbox within an hour, before one must wait for the last to be old
)

// Waits reports whether no link is mailed at a time although a caller asks for one. Anyone may ask for the links of
// anyone, so a caller's pauses follow from what was mailed for the same group of addresses. What others asked for
// delays a mail only after linksPerHour, and only while the mailbox has a link that works for some minutes more: its
// reader always gets one.
func (m LinkMails) Waits(from string, now time.Time) bool {
	var latest, newest time.Time
	pause, recent := linkPause/2, 0
	for _, mail := range m.Sent {
		if latest = mail.At; now.Sub(latest) < time.Hour {
			recent++
		}
		if mail.From == from {
			newest, pause = mail.At, min(2*pause, maxLinkPause)
		}
	}
	if !newest.IsZero() && now.Sub(newest) < pause {
		return true
	}
	return recent >= linksPerHour && m.Usable && now.Sub(latest) < account.MailPause
}

// NewMailedLink is NewLink for a link that is mailed to u's address, which it confirms when it is used. The link is nil
// if nothing is mailed: the address is not verified or has no public domain, or the caller has to wait.
func NewMailedLink(by identity.Actor, u *account.User, mails LinkMails) (secret.Token, *Link, error) {
	if !u.MailsLinks() || mails.Waits(identity.AddressGroup(by.Request.Address), by.At) {
		return secret.Token{}, nil, nil
	}
	t, l, err := NewLink(by, u)
	if err == nil {
		l.Mailed = true
	}
	return t, l, err
}

// Verifier returns who vouches for the address of the user who uses l (account.User.EmailVerifiedBy): the mailbox that
// got it, or the operator who printed it.
func (l *Link) Verifier() string {
	if l.Mailed {
		return account.VerifiedByMailbox
	}
	return account.VerifiedByOperator
}

// URL returns the address that opens a sign-in link in a browser, below an org's canonical one. The token is in the
// fragment, which browsers send to no server.
func (l *Link) URL(org *identity.Org, t secret.Token) string {
	return org.BaseURL + "/console/sign-in#token=" + t.Reveal()
}
