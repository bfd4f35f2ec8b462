package accounts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// SignIn answers whom verified claims are, after making the account or bringing it in line with
// them where that is due. by is the system.
func (s *Service) SignIn(ctx context.Context, by identity.Actor, org *identity.Org, c account.Claims) (*account.Person, error) {
	p, err := s.users.SignedIn(ctx, by.Org, c.Issuer, c.Subject)
	switch {
	case err == nil && p.Settled(c, org.ClaimRules):
		return p, nil
	case err != nil && !errors.Is(err, account.ErrUserNotFound):
		return nil, err
	}
	in := account.SignIn{Claims: c, Rules: org.ClaimRules, OwnSpace: org.OwnSpaces}
	return s.users.SignIn(ctx, by.Org, in, func(in *account.SignIn) error { return in.Settle(by) })
}
