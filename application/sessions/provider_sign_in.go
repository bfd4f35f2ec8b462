package sessions

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// CodeFor returns a code that opens a session for a user who has just signed in at a provider. Only the browser with
// the secret of the hash bound can use it. by is the system, in the request of the browser.
func (s *Service) CodeFor(
	ctx context.Context, by identity.Actor, u *account.User, from session.ProviderSession, bound account.Hash,
) (account.Token, error) {
	token, code, err := session.NewCode(by, u, from, bound)
	if err != nil {
		return account.Token{}, err
	}
	return token, s.sessions.AddLink(ctx, code)
}

// OpenByCode exchanges the code for a sign-in at a provider, which it uses up, for a session. bound is the secret of
// the browser that sent the code. by is the system. Every problem is session.ErrLinkInvalid.
func (s *Service) OpenByCode(
	ctx context.Context, by identity.Actor, org *identity.Org, code, bound string, browser Browser,
) (session.Opened, error) {
	t, isCode := session.ParseCode(code)
	secret, isBound := session.ParseBrowserSecret(bound)
	if !isCode {
		return session.Opened{}, session.ErrLinkInvalid
	}
	// In one transaction: a logout at the provider finds either the code or the session.
	out, err := ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (out session.Opened, err error) {
		link, err := tx.Sessions.TakeLink(ctx, org.ID, t.Hash(), by.At)
		if err != nil {
			return out, err
		}
		if !isBound || link.Bound != secret.Hash() {
			return out, nil // another browser has the code, which is used up
		}
		return openIn(ctx, tx.Sessions, by, link.User, session.ByOIDC, browser,
			func(p *account.Person, live []*session.Session) (*session.Session, session.Secrets, error) {
				return session.OpenFromProvider(by, p, link.From, browser.Agent, live)
			})
	})
	noteDisabled(ctx, s.notes, by, err)
	if (err == nil && out.Session == nil) || errors.Is(err, identity.ErrUnauthenticated) ||
		errors.Is(err, account.ErrUserNotFound) {
		err = session.ErrLinkInvalid
	}
	return out, err
}

// endAtProvider ends the sessions that a logout token of one of org's issuers is about. by is the system.
// account.ErrLogoutToken if the token was received before.
func (s *Service) endAtProvider(ctx context.Context, by identity.Actor, l *session.Logout) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if err := tx.ProviderSessions.Receive(ctx, by.Org, l.Hash(), l.RememberUntil(by.At)); err != nil {
			return err
		}
		return tx.ProviderSessions.End(ctx, by, l.ProviderSession,
			func(p *account.Person, live []*session.Session) error {
				return session.EndBecause(by, p, session.EndedByProvider, live)
			})
	})
}
