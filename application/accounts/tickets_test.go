package accounts_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports/mocks"
)

func TestTickets(t *testing.T) {
	at := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	key := account.NewToken()
	byKey := account.Proof{Key: key.Hash()}
	bySignIn := account.Proof{Issuer: "https://issuer.example", Subject: "ann", Until: at.Add(time.Hour)}
	org := &identity.Org{ID: "org", Issuers: []identity.Issuer{{URL: "https://issuer.example"}}}
	outage := errors.New("the store is away")
	staged := func(t *testing.T) (*accounts.Tickets, *mocks.MockTickets, *mocks.MockKeys, *mocks.MockUsers) {
		c := gomock.NewController(t)
		tickets, keys, users := mocks.NewMockTickets(c), mocks.NewMockKeys(c), mocks.NewMockUsers(c)
		return accounts.NewTickets(tickets, keys, users), tickets, keys, users
	}
	t.Run("a ticket stands for what was shown", func(t *testing.T) {
		s, tickets, _, _ := staged(t)
		var kept account.Ticket
		tickets.EXPECT().Add(gomock.Any(), gomock.Any()).DoAndReturn(func(_ context.Context, t account.Ticket) error { kept = t; return nil })
		token, expires, err := s.Issue(t.Context(), "org", byKey, at)
		if err != nil || !expires.Equal(at.Add(time.Minute)) || kept.Hash != token.Hash() || kept.Proof != byKey || kept.Org != "org" || !kept.ExpiresAt.Equal(expires) {
			t.Fatalf("%+v until %v, %v", kept, expires, err)
		}
		tickets.EXPECT().Take(gomock.Any(), identity.OrgID("org"), token.Hash(), at).Return(&kept, nil)
		if got, err := s.Redeem(t.Context(), "org", token.Reveal(), at); err != nil || got != byKey {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("what cannot be one costs no look-up", func(t *testing.T) {
		s, _, _, _ := staged(t)
		for _, text := range []string{"", "x", key.Reveal()} {
			if _, err := s.Redeem(t.Context(), "org", text, at); !errors.Is(err, identity.ErrUnauthenticated) {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
	t.Run("the store's own errors are answered", func(t *testing.T) {
		s, tickets, keys, users := staged(t)
		tickets.EXPECT().Add(gomock.Any(), gomock.Any()).Return(outage)
		if _, _, err := s.Issue(t.Context(), "org", byKey, at); !errors.Is(err, outage) {
			t.Error(err)
		}
		token, _ := account.NewTicket("org", byKey, at)
		tickets.EXPECT().Take(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(nil, outage)
		if _, err := s.Redeem(t.Context(), "org", token.Reveal(), at); !errors.Is(err, outage) {
			t.Error(err)
		}
		keys.EXPECT().Principal(gomock.Any(), gomock.Any(), gomock.Any()).Return(nil, outage)
		if _, err := s.Standing(t.Context(), org, byKey, at); !errors.Is(err, outage) {
			t.Error(err)
		}
		users.EXPECT().SignedIn(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(nil, outage)
		if _, err := s.Standing(t.Context(), org, bySignIn, at); !errors.Is(err, outage) {
			t.Error(err)
		}
	})
	live := func() *account.Principal {
		return &account.Principal{User: account.User{ID: "ann"}, Membership: account.Membership{Role: identity.Member}, Key: account.Key{ID: "key"}}
	}
	for name, change := range map[string]func(*account.Principal){
		"nothing":                      nil,
		"the key was revoked":          func(p *account.Principal) { p.Key.RevokedAt = at },
		"the key expired":              func(p *account.Principal) { p.Key.ExpiresAt = at },
		"its bearer has left the team": func(p *account.Principal) { p.Membership.Role = identity.NoRole },
	} {
		t.Run("by a key one stands until: "+name, func(t *testing.T) {
			s, _, keys, _ := staged(t)
			p := live()
			if change != nil {
				change(p)
			}
			keys.EXPECT().Principal(gomock.Any(), identity.OrgID("org"), key.Hash()).Return(p, nil)
			got, err := s.Standing(t.Context(), org, byKey, at)
			if change == nil && (err != nil || got.User.ID != "ann") || change != nil && !errors.Is(err, identity.ErrUnauthenticated) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	t.Run("by a sign-in one stands until", func(t *testing.T) {
		for name, tt := range map[string]struct {
			org  *identity.Org
			at   time.Time
			err  error
			asks bool
			want error
		}{
			"nothing":                    {org, at, nil, true, nil},
			"the token ends":             {org, at.Add(time.Hour), nil, false, identity.ErrUnauthenticated},
			"the issuer is none of ours": {&identity.Org{ID: "org"}, at, nil, false, identity.ErrUnauthenticated},
			"the subject is unlinked":    {org, at, account.ErrUserNotFound, true, identity.ErrUnauthenticated},
		} {
			t.Run(name, func(t *testing.T) {
				s, _, _, users := staged(t)
				if tt.asks {
					users.EXPECT().SignedIn(gomock.Any(), identity.OrgID("org"), "https://issuer.example", "ann").Return(&account.Person{User: account.User{ID: "ann"}}, tt.err)
				}
				got, err := s.Standing(t.Context(), tt.org, bySignIn, tt.at)
				if !errors.Is(err, tt.want) || err == nil && (got.User.ID != "ann" || got.Key.ID != "") {
					t.Errorf("%+v, %v", got, err)
				}
			})
		}
	})
}
