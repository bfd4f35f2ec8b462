package accounts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// SignIn returns the person that verified claims belong to, after creating the account or updating it
// from the claims if necessary. If it creates an account although another one has the claims' address
// and cannot be joined, apart is that other account. by is the system. Returns the errors of
// account.SignIn.Settle.
// The audit trail notes the sign-in, and in workspaces that rules for the issuer name, ErrSignUpClosed and
// ErrClaimMissing.
func (s *Service) SignIn(ctx context.Context, by identity.Actor, org *identity.Org,
	c account.Claims) (p *account.Person, unlinked *account.User, err error) {
	if len(c.Missing(org)) > 0 { // Settle would return it too, but after loading data
		return nil, nil, s.noteRefusedSignIn(ctx, by, org, c.Issuer, account.ErrClaimMissing)
	}
	defer func() {
		if err == nil {
			s.deps.Notes.Note(ctx, p.SignedIn(by, c.Issuer))
		}
	}()
	p, err = s.users.SignedIn(ctx, by.Org, c.Issuer, c.Subject)
	switch {
	case err == nil && !p.User.Enabled():
		return nil, nil, identity.ErrUnauthenticated
	case err == nil && p.Settled(c, org):
		return p, nil, nil
	case err != nil && !errors.Is(err, account.ErrUserNotFound):
		return nil, nil, err
	}
	settled := &account.SignIn{Claims: c, Org: org}
	p, err = s.users.SignIn(ctx, by.Org, *settled, func(in *account.SignIn) error {
		settled = in
		return in.Settle(by)
	})
	if err != nil {
		return nil, nil, s.noteRefusedSignIn(ctx, by, org, c.Issuer, err)
	}
	hasJoined, err := s.capture(ctx, by, org, p, c)
	if hasJoined && err == nil {
		p, err = s.users.SignedIn(ctx, by.Org, c.Issuer, c.Subject)
	}
	if err == nil && settled.HasMoved { // if the node dies before, the daily audit of payments does the same
		err = s.followOwner(ctx, by, p)
	}
	return p, settled.NotJoined, err
}

// Linked is the result of linking a sign-in: To has it now, and From had it before; From is empty if no
// other user had it.
type Linked struct{ To, From identity.UserID }

// LinkSignIn links an issuer's subject to the person with an e-mail address, and removes the subject's
// link to another person, whose sessions by that sign-in end. by must be the system.
func (s *Service) LinkSignIn(ctx context.Context, by identity.Actor, org *identity.Org, email, issuer,
	subject string) (out Linked, err error) {
	if err := account.CheckSignIn(org, issuer, subject); err != nil {
		return Linked{}, err
	}
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if err := tx.Users.Link(ctx, by, email, issuer, subject, func(person, from *account.Person) error {
			out = Linked{To: person.User.ID}
			if from != nil && from.User.ID != person.User.ID {
				out.From = from.User.ID
			}
			return person.TakeSignIn(by, issuer, from)
		}); err != nil || out.From == "" {
			return err
		}
		return tx.ProviderSessions.End(ctx, by, session.ProviderSession{Issuer: issuer, Subject: subject},
			func(p *account.Person, live []*session.Session) error {
				return session.EndBecause(by, p, session.EndedByUnlink, live)
			})
	})
	return out, err
}

// UserByEmail returns the person with an e-mail address, for the command line. by is the system.
// Returns account.ErrUserNotFound if not found.
func (s *Service) UserByEmail(
	ctx context.Context, by identity.Actor, email string,
) (*account.User, []account.Membership, error) {
	return s.users.FindByEmail(ctx, by.Org, email)
}
