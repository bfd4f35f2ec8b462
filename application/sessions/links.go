package sessions

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// LinkFor creates a sign-in link for the person of org with an e-mail address, for the command line. by is the
// system. Returns account.ErrUserNotFound if the person does not exist or is disabled.
func (s *Service) LinkFor(
	ctx context.Context, by identity.Actor, email string,
) (account.Token, *session.Link, error) {
	u, _, err := s.users.FindByEmail(ctx, by.Org, email)
	if err == nil && !u.Enabled() {
		err = account.ErrUserDisabled
	}
	if err != nil {
		return account.Token{}, nil, err
	}
	token, link, err := session.NewLink(by, u)
	if err != nil {
		return account.Token{}, nil, err
	}
	return token, link, s.sessions.AddLink(ctx, link)
}

// LinkUser returns the person that a sign-in link signs in, and leaves the link as it is. Every problem with the token
// is session.ErrLinkInvalid.
func (s *Service) LinkUser(
	ctx context.Context, org identity.OrgID, token string, now time.Time,
) (*account.User, error) {
	t, ok := session.ParseLink(token)
	if !ok {
		return nil, session.ErrLinkInvalid
	}
	id, err := s.sessions.LinkUser(ctx, org, t.Hash(), now)
	if err != nil {
		return nil, err
	}
	u, _, err := s.users.Get(ctx, org, id)
	if errors.Is(err, account.ErrUserNotFound) || (err == nil && !u.Enabled()) {
		err = session.ErrLinkInvalid
	}
	if err != nil {
		return nil, err
	}
	return u, nil
}

// MailsLinks reports whether MailLink can mail a link.
func (s *Service) MailsLinks() bool { return s.mailer.Delivers() }

// MailLink mails a sign-in link to the person of org with an e-mail address, unless session.NewMailedLink decides that
// nothing is mailed. by is the system. The caller must not show whether a link was mailed, or how long that took.
func (s *Service) MailLink(ctx context.Context, by identity.Actor, org *identity.Org, email string) error {
	var mailed struct {
		to    *account.User
		link  *session.Link
		token account.Token
	}
	err := s.sessions.MailLink(ctx, by, email,
		func(u *account.User, mails session.LinkMails) (_ *session.Link, err error) {
			mailed.to = u
			mailed.token, mailed.link, err = session.NewMailedLink(by, u, mails)
			return mailed.link, err
		})
	if err != nil || mailed.link == nil {
		return err
	}
	return s.mailer.Send(ctx, linkMail(mailed.to, naming.Harmless(org.Name), mailed.link.URL(org, mailed.token)))
}

// linkMail asks a person who joined by an invitation to confirm the address.
func linkMail(recipient *account.User, org, url string) ports.Mail {
	if recipient.Unconfirmed() {
		return ports.Mail{
			To: recipient.Email, Subject: "Confirm your e-mail address",
			Text: "Someone joined " + org + " with this address. If that was you, confirm it within 15 minutes:\n" +
				url + "\n\nThe link works once, and signs you in. In a browser that is not signed in to the account, " +
				"it ends the sessions, passkeys and API keys that the account has. If you did not join, you can use " +
				"it to get the account, or ignore it.\n",
		}
	}
	return ports.Mail{
		To: recipient.Email, Subject: "Your sign-in link",
		Text: "Sign in to " + org + " within 15 minutes:\n" + url +
			"\n\nThe link works once. If you did not ask for it, ignore it.\n",
	}
}
