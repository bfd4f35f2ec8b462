package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/session"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Sessions stores the sessions of browsers, and the links that open them.
type Sessions interface {
	// Update loads a user of by's org with all memberships, and the user's sessions that are live at by's time, oldest
	// first. It calls change, and saves the session that change opened, if any, and those that it ended or confirmed,
	// all in one transaction. Concurrent calls for one user wait for each other. account.ErrUserNotFound if the org
	// has no such user.
	Update(ctx context.Context, by identity.Actor, user identity.UserID,
		change func(p *account.Person, live []*session.Session) (session *session.Session, err error)) error

	// List lists a user's sessions that are live at now, newest first; only those that key opened unless it is empty.
	List(ctx context.Context, org identity.OrgID, user identity.UserID, key identity.KeyID, now time.Time,
		q page.Query) (session.Page, error)

	// Person returns the person that a cookie of org authenticates, even if the session has expired: the caller must
	// check session.Principal.LiveSession and the proof. identity.ErrUnauthenticated if there is no such session. The
	// result may be up to one second old, but never older than a change made through this adapter. It is shared and
	// must not be changed.
	Person(ctx context.Context, org identity.OrgID, cookie account.Hash) (*session.Person, error)

	// Used records when sessions of org were last used, at most once a minute per session, as Keys.Used does.
	Used(ctx context.Context, org identity.OrgID, uses map[identity.SessionID]time.Time) error

	// AddLink stores a sign-in link.
	AddLink(ctx context.Context, l *session.Link) error

	// MailLink loads the person of by's org with an e-mail address, and the mails with links to that mailbox. It calls
	// change, and stores the link that change returns, and that it is mailed now to by's address, in one transaction.
	// Concurrent calls for one mailbox wait for each other. account.ErrUserNotFound if there is no such person.
	MailLink(ctx context.Context, by identity.Actor, email string,
		change func(u *account.User, mails session.LinkMails) (*session.Link, error)) error

	// LinkUser returns the user that a link of org signs in. It changes nothing. Returns session.ErrLinkInvalid if the
	// link does not exist, has expired at now, or is bound to the browser that began a sign-in at a provider.
	LinkUser(ctx context.Context, org identity.OrgID, h account.Hash, now time.Time) (identity.UserID, error)

	// TakeLink returns a link of org and removes it, so that only one of several concurrent calls gets it. With a
	// mailed link, all mailed links of its user are removed. Returns session.ErrLinkInvalid if the link does not exist,
	// or has expired at now.
	TakeLink(ctx context.Context, org identity.OrgID, h account.Hash, now time.Time) (*session.Link, error)
}
