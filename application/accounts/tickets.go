package accounts

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Tickets holds the use cases of what outlasts the request that showed a credential.
type Tickets struct {
	tickets ports.Tickets
	keys    ports.Keys
	users   ports.Users
}

// NewTickets returns the use cases on these stores.
func NewTickets(t ports.Tickets, k ports.Keys, u ports.Users) *Tickets {
	return &Tickets{tickets: t, keys: k, users: u}
}

// Issue makes a ticket for who has shown proof.
func (s *Tickets) Issue(ctx context.Context, org identity.OrgID, p account.Proof, now time.Time) (account.Token, time.Time, error) {
	token, t := account.NewTicket(org, p, now)
	return token, t.ExpiresAt, s.tickets.Add(ctx, t)
}

// Redeem answers what the bearer of a ticket has shown, once. Whatever is wrong with it, the error is
// identity.ErrUnauthenticated.
func (s *Tickets) Redeem(ctx context.Context, org identity.OrgID, ticket string, now time.Time) (account.Proof, error) {
	token, ok := account.ParseTicket(ticket)
	if !ok {
		return account.Proof{}, identity.ErrUnauthenticated
	}
	t, err := s.tickets.Take(ctx, org, token.Hash(), now)
	if err != nil {
		return account.Proof{}, err
	}
	return t.Proof, nil
}

// Standing answers who is meant by a proof, as long as it still proves anything: of a sign-in, no key
// and no membership. identity.ErrUnauthenticated if it does not.
func (s *Tickets) Standing(ctx context.Context, org *identity.Org, p account.Proof, now time.Time) (*account.Principal, error) {
	if p.Issuer == "" {
		return live(ctx, s.keys, org.ID, p.Key, now)
	}
	if !now.Before(p.Until) || !trusts(org, p.Issuer) {
		return nil, identity.ErrUnauthenticated
	}
	who, err := s.users.SignedIn(ctx, org.ID, p.Issuer, p.Subject)
	if errors.Is(err, account.ErrUserNotFound) {
		return nil, identity.ErrUnauthenticated
	}
	if err != nil {
		return nil, err
	}
	return &account.Principal{User: who.User}, nil
}

func trusts(org *identity.Org, issuer string) bool {
	for i := range org.Issuers {
		if org.Issuers[i].URL == issuer {
			return true
		}
	}
	return false
}
