package accounts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// SignIn returns who verified claims are, after making the account or bringing it in line with
// them where that is due. If it was made beside another one, which has the claims' address and
// cannot be joined, apart is that one. by is the system. Errors are those of account.SignIn.Settle.
func (s *Service) SignIn(ctx context.Context, by identity.Actor, org *identity.Org, c account.Claims) (p *account.Person, apart *account.User, err error) {
	if len(c.Lacks(org)) > 0 { // as Settle finds, but before anything is loaded
		return nil, nil, account.ErrClaimMissing
	}
	p, err = s.users.SignedIn(ctx, by.Org, c.Issuer, c.Subject)
	switch {
	case err == nil && !p.User.Enabled():
		return nil, nil, identity.ErrUnauthenticated
	case err == nil && p.Settled(c, org):
		return p, nil, nil
	case err != nil && !errors.Is(err, account.ErrUserNotFound):
		return nil, nil, err
	}
	in := account.SignIn{Claims: c, Org: org}
	p, err = s.users.SignIn(ctx, by.Org, in, func(in *account.SignIn) error {
		err := in.Settle(by)
		apart = in.Apart
		return err
	})
	return p, apart, err
}

// Linked says what became of a sign-in: To has it now, and From had it before, empty if nobody else did.
type Linked struct{ To, From identity.UserID }

// LinkSignIn lets whoever signs in as an issuer's subject be the person with an e-mail address, and
// nobody else any more. by is the system.
func (s *Service) LinkSignIn(ctx context.Context, by identity.Actor, org *identity.Org, email, issuer, subject string) (out Linked, err error) {
	if err := account.CheckSignIn(org, issuer, subject); err != nil {
		return Linked{}, err
	}
	err = s.users.Link(ctx, by, email, issuer, subject, func(to, from *account.Person) error {
		out = Linked{To: to.User.ID}
		if from != nil && from.User.ID != to.User.ID {
			out.From = from.User.ID
		}
		return to.TakeSignIn(by, issuer, from)
	})
	return out, err
}

// UserByEmail returns the person with an e-mail address, for the command line. by is the system.
// Returns account.ErrUserNotFound if there is none.
func (s *Service) UserByEmail(ctx context.Context, by identity.Actor, email string) (*account.User, []account.Membership, error) {
	return s.users.FindByEmail(ctx, by.Org, email)
}
