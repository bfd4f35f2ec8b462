package sessions

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// Tickets holds the use cases of connections that outlast the request with the credential.
type Tickets struct{ tickets ports.Tickets }

// NewTickets returns the use cases on a store.
func NewTickets(t ports.Tickets) *Tickets { return &Tickets{tickets: t} }

// Issue creates a ticket for a caller who has shown proof.
func (s *Tickets) Issue(
	ctx context.Context, org identity.OrgID, p session.Proof, now time.Time,
) (account.Token, time.Time, error) {
	token, t := session.NewTicket(org, p, now)
	return token, t.ExpiresAt, s.tickets.Add(ctx, t)
}

// Redeem returns the proof of a ticket's bearer, once. Every problem with the ticket is
// identity.ErrUnauthenticated.
func (s *Tickets) Redeem(ctx context.Context, org identity.OrgID, ticket string, now time.Time) (session.Proof, error) {
	token, ok := session.ParseTicket(ticket)
	if !ok {
		return session.Proof{}, identity.ErrUnauthenticated
	}
	t, err := s.tickets.Take(ctx, org, token.Hash(), now)
	if err != nil {
		return session.Proof{}, err
	}
	return t.Proof, nil
}

// Resume returns the proof for a redeemed ticket's bearer, so that the stream that it opened can continue. The
// caller must have checked that the bearer has received that stream. Every problem with the ticket is
// identity.ErrUnauthenticated.
func (s *Tickets) Resume(ctx context.Context, org identity.OrgID, ticket string, now time.Time) (session.Proof, error) {
	token, ok := session.ParseTicket(ticket)
	if !ok {
		return session.Proof{}, identity.ErrUnauthenticated
	}
	t, err := s.tickets.Resume(ctx, org, token.Hash(), now)
	if err != nil {
		return session.Proof{}, err
	}
	return t.Proof, nil
}

// ResolveProofs returns the principal behind each proof, in order: without a key and a membership for a
// sign-in, nil for a proof that is no longer valid.
func (s *Tickets) ResolveProofs(ctx context.Context, org *identity.Org, proofs []session.Proof,
	now time.Time) ([]*session.Principal, error) {
	principals, err := s.tickets.Proven(ctx, org.ID, proofs)
	if err != nil {
		return nil, err
	}
	for i, p := range proofs {
		if !p.Valid(org, principals[i], now) {
			principals[i] = nil
		}
	}
	return principals, nil
}
