package account

import (
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
)

// LinkLife is how long a sign-in link works.
const LinkLife = 15 * time.Minute

// ErrLinkInvalid is returned for a token that opens no session, whatever the reason.
var ErrLinkInvalid = &fault.Error{
	Kind: fault.Unauthenticated, Code: "sign_in_link_invalid",
	Detail: "The sign-in link was used, has expired, or never existed. Ask for a new one.",
}

// SignInLink opens one session of a user. Its token is in a link, shown or mailed once, or is the code of a sign-in at
// a provider.
type SignInLink struct {
	Org       identity.OrgID
	User      identity.UserID
	Hash      Hash
	From      ProviderSession // zero for a link
	Bound     Hash            // of the secret of the browser that may use the code; zero for a link
	CreatedAt time.Time
	ExpiresAt time.Time
}

// NewSignInLink returns a link for a user and its token. by is the system. ErrUserNotFound if the user is disabled or
// a program's.
func NewSignInLink(by identity.Actor, u *User) (Token, *SignInLink, error) {
	if by.User != "" || by.Org != u.Org || !u.Enabled() || u.Service {
		return Token{}, nil, ErrUserNotFound
	}
	t := secret.NewToken(signInLinkPrefix)
	return t, &SignInLink{Org: u.Org, User: u.ID, Hash: t.Hash(), CreatedAt: by.At, ExpiresAt: by.At.Add(LinkLife)}, nil
}

// ErrMailNotConfigured is returned for a mailed link where mail cannot be sent.
var ErrMailNotConfigured = &fault.Error{
	Kind: fault.Conflict, Code: "mail_not_configured",
	Detail: "This server cannot send mail. Sign in another way.",
}

// NewMailedLink is NewSignInLink for a link that is mailed to u's address, to which links were mailed at the times
// mailed, oldest first. The link is nil if nothing is mailed: the address is not verified or has no public domain, or
// a limit is reached.
func NewMailedLink(by identity.Actor, u *User, mailed []time.Time, l MailLimits) (Token, *SignInLink, error) {
	if !u.MailsLinks() ||
		len(sentWithin(mailed, MailPause, by.At)) > 0 ||
		len(sentWithin(mailed, day, by.At)) >= l.AddressPerDay {
		return Token{}, nil, nil
	}
	return NewSignInLink(by, u)
}

// URL returns the address that opens a sign-in link in a browser, below an org's canonical one. The token is in the
// fragment, which browsers send to no server.
func (l *SignInLink) URL(org *identity.Org, t Token) string {
	return org.BaseURL + "/console/sign-in#token=" + t.Reveal()
}
