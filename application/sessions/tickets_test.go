package sessions_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sessions"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports/mocks"
)

func TestTickets(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	key := account.NewToken()
	byKey := session.Proof{Key: key.Hash()}
	bySignIn := session.Proof{Issuer: "https://issuer.example", Subject: "ann", Until: now.Add(time.Hour)}
	org := &identity.Org{ID: "org", Issuers: []identity.Issuer{{URL: "https://issuer.example"}}}
	outage := errors.New("the store is away")
	newTickets := func(t *testing.T) (*sessions.Tickets, *mocks.MockTickets) {
		tickets := mocks.NewMockTickets(gomock.NewController(t))
		return sessions.NewTickets(tickets), tickets
	}
	t.Run("a ticket stands for what was shown", func(t *testing.T) {
		s, tickets := newTickets(t)
		var ticket session.Ticket
		tickets.EXPECT().Add(gomock.Any(), gomock.Any()).DoAndReturn(func(_ context.Context, t session.Ticket) error {
			ticket = t
			return nil
		})
		token, expires, err := s.Issue(t.Context(), "org", byKey, now)
		if err != nil || !expires.Equal(now.Add(time.Minute)) || ticket.Hash != token.Hash() || ticket.Proof != byKey ||
			ticket.Org != "org" || !ticket.ExpiresAt.Equal(expires) {
			t.Fatalf("%+v until %v, %v", ticket, expires, err)
		}
		tickets.EXPECT().Take(gomock.Any(), identity.OrgID("org"), token.Hash(), now).Return(&ticket, nil)
		if got, err := s.Redeem(t.Context(), "org", token.Reveal(), now); err != nil || got != byKey {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("a ticket that was redeemed resumes", func(t *testing.T) {
		s, tickets := newTickets(t)
		token, ticket := session.NewTicket("org", byKey, now)
		resumes := tickets.EXPECT().Resume(gomock.Any(), identity.OrgID("org"), token.Hash(), now)
		resumes.Return(&ticket, nil)
		if got, err := s.Resume(t.Context(), "org", token.Reveal(), now); err != nil || got != byKey {
			t.Errorf("%+v, %v", got, err)
		}
		tickets.EXPECT().Resume(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(nil, outage)
		if _, err := s.Resume(t.Context(), "org", token.Reveal(), now); !errors.Is(err, outage) {
			t.Error(err)
		}
		if _, err := s.Resume(t.Context(), "org", "x", now); !errors.Is(err, identity.ErrUnauthenticated) {
			t.Error(err)
		}
	})
	t.Run("what cannot be one costs no look-up", func(t *testing.T) {
		s, _ := newTickets(t)
		for _, text := range []string{"", "x", key.Reveal()} {
			if _, err := s.Redeem(t.Context(), "org", text, now); !errors.Is(err, identity.ErrUnauthenticated) {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
	t.Run("the store's own errors are answered", func(t *testing.T) {
		s, tickets := newTickets(t)
		tickets.EXPECT().Add(gomock.Any(), gomock.Any()).Return(outage)
		if _, _, err := s.Issue(t.Context(), "org", byKey, now); !errors.Is(err, outage) {
			t.Error(err)
		}
		token, _ := session.NewTicket("org", byKey, now)
		tickets.EXPECT().Take(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(nil, outage)
		if _, err := s.Redeem(t.Context(), "org", token.Reveal(), now); !errors.Is(err, outage) {
			t.Error(err)
		}
		tickets.EXPECT().Proven(gomock.Any(), gomock.Any(), gomock.Any()).Return(nil, outage)
		if _, err := s.ResolveProofs(t.Context(), org, []session.Proof{byKey}, now); !errors.Is(err, outage) {
			t.Error(err)
		}
	})
	t.Run("of many proofs, each stands or falls for itself, and the store is asked once", func(t *testing.T) {
		s, tickets := newTickets(t)
		live := func(user identity.UserID) *session.Principal {
			return &session.Principal{Principal: account.Principal{User: account.User{ID: user},
				Membership: account.Membership{Role: identity.Member}, Key: account.Key{ID: "key"}}}
		}
		revokedPrincipal := live("bob")
		revokedPrincipal.Key.RevokedAt = now
		proofs := []session.Proof{byKey, byKey, bySignIn, byKey}
		tickets.EXPECT().Proven(gomock.Any(), identity.OrgID("org"),
			proofs).Return([]*session.Principal{
			live("ann"), revokedPrincipal, {Principal: account.Principal{User: account.User{ID: "carl"}}}, nil,
		}, nil)
		got, err := s.ResolveProofs(t.Context(), org, proofs, now)
		if err != nil || len(got) != 4 || got[0].User.ID != "ann" || got[1] != nil || got[2].User.ID != "carl" ||
			got[3] != nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
