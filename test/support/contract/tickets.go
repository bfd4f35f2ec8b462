package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Tickets is the suite for ports.Tickets.
func Tickets(t *testing.T, open Opener) {
	a := open(t)
	t.Run("Proven", func(t *testing.T) { proven(t, a) })
	ctx, org := t.Context(), a.Orgs[0]
	issue := func(p session.Proof) (account.Hash, session.Ticket) {
		t.Helper()
		token, ticket := session.NewTicket(org, p, fixture.At)
		must(t, a.Tickets.Add(ctx, ticket))
		return token.Hash(), ticket
	}
	for name, p := range map[string]session.Proof{
		"of a key":     {Key: account.NewToken().Hash()},
		"of a sign-in": {Issuer: "https://issuer.example", Subject: "ann", Until: fixture.At.Add(time.Hour)},
	} {
		t.Run("a ticket "+name+" is returned unchanged, once", func(t *testing.T) {
			hash, want := issue(p)
			got, err := a.Second().Tickets.Take(ctx, org, hash, fixture.At.Add(session.TicketLife-time.Microsecond))
			must(t, err)
			same(t, "the ticket", got, &want)
			_, err = a.Tickets.Take(ctx, org, hash, fixture.At)
			wantErr(t, err, identity.ErrUnauthenticated)
		})
	}
	t.Run("a ticket resumes any number of times once it was taken, until a time after the last", func(t *testing.T) {
		hash, want := issue(session.Proof{Key: account.NewToken().Hash()})
		_, err := a.Tickets.Resume(ctx, org, hash, fixture.At)
		wantErr(t, err, identity.ErrUnauthenticated)
		_, err = a.Tickets.Take(ctx, org, hash, fixture.At)
		must(t, err)
		instant := fixture.At
		for range 2 {
			instant = instant.Add(session.ResumeWithin - time.Microsecond)
			got, err := a.Second().Tickets.Resume(ctx, org, hash, instant)
			must(t, err)
			same(t, "the proof", got.Proof, want.Proof)
		}
		_, err = a.Tickets.Resume(ctx, a.Orgs[1], hash, instant)
		wantErr(t, err, identity.ErrUnauthenticated)
		_, err = a.Tickets.Resume(ctx, org, hash, instant.Add(session.ResumeWithin))
		wantErr(t, err, identity.ErrUnauthenticated)
	})
	t.Run("of many callers that take a ticket at once one gets it", func(t *testing.T) {
		hash, _ := issue(session.Proof{})
		second, previous := a.Second(), 0
		for _, err := range atOnce(8, func(i int) error {
			s := a.Stores
			if i%2 == 1 {
				s = second
			}
			_, err := s.Tickets.Take(ctx, org, hash, fixture.At)
			return err
		}) {
			if err == nil {
				previous++
				continue
			}
			wantErr(t, err, identity.ErrUnauthenticated)
		}
		assert.Equal(t, "had it", previous, 1)
	})
	t.Run("a ticket that has expired, or of another org, is not found", func(t *testing.T) {
		hash, _ := issue(session.Proof{})
		_, err := a.Tickets.Take(ctx, a.Orgs[1], hash, fixture.At)
		wantErr(t, err, identity.ErrUnauthenticated)
		_, err = a.Tickets.Take(ctx, org, hash, fixture.At.Add(session.TicketLife))
		wantErr(t, err, identity.ErrUnauthenticated)
		_, err = a.Tickets.Take(ctx, org, account.NewToken().Hash(), fixture.At)
		wantErr(t, err, identity.ErrUnauthenticated)
	})
}
