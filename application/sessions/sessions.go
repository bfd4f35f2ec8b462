// Package sessions holds the use cases of signing in with a browser: by a link, an API key, a provider or a passkey.
package sessions

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// Service holds the use cases of sessions and of the links that open them.
type Service struct {
	atomic   ports.Atomic
	sessions ports.Sessions
	keys     ports.Keys
	users    ports.Users
	mailer   ports.Mailer
	notes    ports.Notes
}

// NewService returns the use cases on these stores.
func NewService(
	atomic ports.Atomic, sessions ports.Sessions, keys ports.Keys, users ports.Users, m ports.Mailer, n ports.Notes,
) *Service {
	return &Service{atomic: atomic, sessions: sessions, keys: keys, users: users, mailer: m, notes: n}
}

// Authenticate returns the person of an org's session, of which a request shows the cookie and the proof. Every problem
// with them is identity.ErrUnauthenticated.
func (s *Service) Authenticate(
	ctx context.Context, org *identity.Org, cookie, proof string, now time.Time,
) (*session.Person, error) {
	c, ok := session.ParseCookie(cookie)
	token, hasBoth := session.ParseProof(proof)
	if !ok || !hasBoth {
		return nil, identity.ErrUnauthenticated
	}
	p, err := s.sessions.Person(ctx, org.ID, c.Hash())
	if err != nil {
		return nil, err
	}
	h := token.Hash()
	if subtle.ConstantTimeCompare(h[:], p.Session.Proof[:]) != 1 || !p.Principal().LiveSession(org, now) {
		return nil, identity.ErrUnauthenticated
	}
	return p, nil
}

// Browser is the browser that opens a session.
type Browser struct {
	Agent  string            // its User-Agent
	User   identity.UserID   // who is signed in with it; empty: no one
	People []identity.UserID // who has signed in with it before
}

// Open exchanges the token of a sign-in link, which it uses up, or an API key for a session. by is the system, in the
// request of the browser. Every problem with the token is session.ErrLinkInvalid.
func (s *Service) Open(
	ctx context.Context, by identity.Actor, org *identity.Org, token string, browser Browser,
) (session.Opened, error) {
	open := s.openByLink
	if _, isKey := account.ParseToken(token); isKey {
		open = s.openByKey
	}
	out, err := open(ctx, by, org, token, browser)
	noteDisabled(ctx, s.notes, by, err)
	if errors.Is(err, identity.ErrUnauthenticated) || errors.Is(err, account.ErrUserNotFound) {
		err = session.ErrLinkInvalid
	}
	return out, err
}

// openByLink uses the link up in the transaction that opens the session, so that one link opens one session.
func (s *Service) openByLink(
	ctx context.Context, by identity.Actor, org *identity.Org, token string, browser Browser,
) (out session.Opened, err error) {
	t, ok := session.ParseLink(token)
	if !ok {
		return session.Opened{}, session.ErrLinkInvalid
	}
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		link, err := tx.Sessions.TakeLink(ctx, org.ID, t.Hash(), by.At)
		if err != nil {
			return err
		}
		if err := confirmAddress(ctx, tx, by, link, browser); err != nil {
			return err
		}
		out, err = openFor(ctx, tx.Sessions, by, link.User, session.ByLink, nil, browser)
		return err
	})
	return out, err
}

// confirmAddress confirms the address of a link's user who joined by an invitation. Unless the browser is signed in to
// the account, it ends everything that opens the account: someone else may have joined.
func confirmAddress(
	ctx context.Context, tx ports.Stores, by identity.Actor, link *session.Link, browser Browser,
) error {
	u, _, err := tx.Users.Get(ctx, by.Org, link.User)
	if err != nil || !u.Unconfirmed() {
		return err
	}
	isSignedIn := browser.User == u.ID
	if err := tx.People.ChangeAccess(ctx, by, u.ID, func(a *account.Access) error {
		return a.ConfirmAddress(by, link.Verifier(), isSignedIn)
	}); err != nil || isSignedIn {
		return err
	}
	if err := tx.Passkeys.Update(ctx, by, u.ID,
		func(p *account.Person, passkeys []*account.Passkey) (*account.Passkey, error) {
			return nil, p.RemovePasskeys(by, passkeys)
		}); err != nil {
		return err
	}
	return tx.Sessions.Update(ctx, by, u.ID,
		func(p *account.Person, live []*session.Session) (*session.Session, error) {
			return nil, session.EndBecause(by, p, session.EndedByConfirmation, live)
		})
}

// openByKey checks the key as authentication does, including its networks, before it opens a session.
func (s *Service) openByKey(
	ctx context.Context, by identity.Actor, org *identity.Org, token string, browser Browser,
) (session.Opened, error) {
	t, _ := account.ParseToken(token)
	p, err := s.keys.Principal(ctx, org.ID, t.Hash())
	if err != nil {
		return session.Opened{}, err
	}
	if !p.Live(org.Keys, by.At) {
		by.User, by.Key, by.Workspace = p.User.ID, p.Key.ID, p.Key.Workspace
		s.notes.Note(ctx, p.Refused(by))
		return session.Opened{}, identity.ErrUnauthenticated
	}
	if !p.Key.Networks.Contain(by.Request.Address) {
		return session.Opened{}, identity.ErrAddressNotAllowed
	}
	return openFor(ctx, s.sessions, by, p.User.ID, session.ByAPIKey, &p.Key, browser)
}

// OpenForJoined opens a session, in the transaction of tx, for a user who has just joined by an invitation.
func OpenForJoined(
	ctx context.Context, tx ports.Stores, by identity.Actor, user identity.UserID, agent string,
) (session.Opened, error) {
	return openFor(ctx, tx.Sessions, by, user, session.ByInvitation, nil, Browser{Agent: agent})
}

// openFor opens a session for a user.
func openFor(
	ctx context.Context, sessions ports.Sessions, by identity.Actor, user identity.UserID,
	source session.Source, key *account.Key, browser Browser,
) (session.Opened, error) {
	return openIn(ctx, sessions, by, user, source, browser,
		func(p *account.Person, live []*session.Session) (*session.Session, session.Secrets, error) {
			return session.Open(by, p, source, key, browser.Agent, live)
		})
}

// openIn opens a session for a user in a browser by open, one of the functions of package session.
func openIn(
	ctx context.Context, sessions ports.Sessions, by identity.Actor, user identity.UserID,
	source session.Source, browser Browser,
	open func(*account.Person, []*session.Session) (*session.Session, session.Secrets, error),
) (out session.Opened, err error) {
	err = sessions.Update(
		ctx, by, user, func(p *account.Person, live []*session.Session) (_ *session.Session, err error) {
			if out.Session, out.Secrets, err = open(p, live); err != nil {
				return nil, orDisabled(p, source, err)
			}
			out.User = p.User
			out.Session.NoteDevice(by, p, browser.People, live)
			return out.Session, nil
		})
	return out, err
}

// List lists the caller's sessions that are live under their org's policy; for an API key, those that it opened.
func (s *Service) List(
	ctx context.Context, by identity.Actor, policy identity.SessionPolicy, q page.Query,
) (session.Page, error) {
	found, err := s.sessions.List(ctx, by.Org, by.User, by.Key, by.At, q)
	found.Items = session.LiveOf(found.Items, policy, by.At)
	return found, err
}

// Get returns one of the caller's live sessions.
func (s *Service) Get(
	ctx context.Context, by identity.Actor, policy identity.SessionPolicy, id identity.SessionID,
) (*session.Session, error) {
	for q := (page.Query{Limit: session.MaxPerUser}); ; {
		sessions, err := s.List(ctx, by, policy, q)
		if err != nil {
			return nil, err
		}
		for i := range sessions.Items {
			if sessions.Items[i].ID == id {
				return &sessions.Items[i], nil
			}
		}
		if q.After = sessions.Next; q.After == "" {
			return nil, session.ErrNotFound
		}
	}
}

// End ends one of the caller's sessions.
func (s *Service) End(ctx context.Context, by identity.Actor, id identity.SessionID) error {
	return s.change(ctx, by, func(p *account.Person, live []*session.Session) error {
		return session.End(by, p, live, id)
	})
}

// EndOwn ends the session of this request. session.ErrNoSession if the caller uses another credential.
func (s *Service) EndOwn(ctx context.Context, by identity.Actor) error {
	if by.Session == "" {
		return session.ErrNoSession
	}
	return s.End(ctx, by, by.Session)
}

// EndAll ends all of the caller's sessions; for an API key, those that it opened.
func (s *Service) EndAll(ctx context.Context, by identity.Actor) error {
	return s.change(ctx, by, func(p *account.Person, live []*session.Session) error {
		session.EndAll(by, p, live)
		return nil
	})
}

func (s *Service) change(
	ctx context.Context, by identity.Actor, change func(*account.Person, []*session.Session) error,
) error {
	return s.sessions.Update(
		ctx, by, by.User, func(p *account.Person, live []*session.Session) (*session.Session, error) {
			return nil, change(p, live)
		})
}
