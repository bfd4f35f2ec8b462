package accounts_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestSignIn(t *testing.T) {
	claims := account.Claims{Issuer: "https://issuer.example", Subject: "sub", Email: email, EmailVerified: true,
		Name: "Ann", Raw: map[string]any{"groups": []any{"dev"}}}
	const issuer = "https://issuer.example"
	org := &identity.Org{
		ID: "org", OwnSpaces: true, SignUp: identity.SignUpClaims,
		Issuers: []identity.Issuer{{URL: issuer, TrustEmail: true}},
		ClaimRules: []identity.ClaimRule{{Issuer: issuer, Claim: "groups", Value: "dev", Workspace: "acme-slug",
			Role: identity.Member}},
	}
	know := func() *account.Person {
		return &account.Person{
			User: account.User{ID: "ann", Org: "org", Email: email, EmailVerified: true, EmailVerifiedBy: issuer,
				Name: "Ann", Revision: 1},
			Memberships: []account.Membership{{Workspace: here, Role: identity.Member,
				Granted: account.Granted{issuer: identity.Member}}},
		}
	}
	signedIn := func(s *env, p *account.Person, err error) {
		s.users.EXPECT().SignedIn(s.ctx, identity.OrgID("org"), "https://issuer.example", "sub").Return(p, err)
	}
	t.Run("who is settled costs no transaction", func(t *testing.T) {
		s, p := newEnv(t), know()
		signedIn(s, p, nil)
		if got, distant, err := s.SignIn(s.ctx, system, org, claims); err != nil || got != p || distant != nil {
			t.Fatalf("SignIn = %+v, %v", got, err)
		}
		if n := *s.noted; len(n) != 1 || n[0].Type != "user.signed_in" || n[0].By.User != "ann" ||
			n[0].Workspaces[0] != "acme" || n[0].Scope[0] != issuer {
			t.Errorf("noted %+v", n)
		}
	})
	t.Run("who is refused has not signed in", func(t *testing.T) {
		s, p := newEnv(t), know()
		p.User.DisabledAt = now
		signedIn(s, p, nil)
		_, _, err := s.SignIn(s.ctx, system, org, claims)
		require.ErrorIs(t, err, identity.ErrUnauthenticated)
		if len(*s.noted) != 0 {
			t.Errorf("noted %+v", *s.noted)
		}
	})
	t.Run("a stranger is refused, which is noted where the issuer's rules lead", func(t *testing.T) {
		for _, missing := range []error{account.ErrSignUpClosed, account.ErrClaimMissing} {
			s, open := newEnv(t), *org
			if missing == account.ErrClaimMissing {
				open.Issuers = []identity.Issuer{{URL: issuer, Require: []identity.ClaimValue{{Claim: "staff"}}}}
			} else {
				signedIn(s, nil, account.ErrUserNotFound)
				s.users.EXPECT().SignIn(s.ctx, identity.OrgID("org"), gomock.Any(), gomock.Any()).Return(nil, missing)
			}
			s.workspaces.EXPECT().Find(s.ctx, identity.OrgID("org"), "acme-slug").Return(acme(), nil)
			_, _, err := s.SignIn(s.ctx, system, &open, claims)
			require.ErrorIs(t, err, missing)
			if n := *s.noted; len(n) != 1 || n[0].Type != "sign_in.refused" || n[0].Subject != "acme" ||
				!n[0].IsRecordable() {
				t.Errorf("%v: noted %+v", missing, n)
			}
		}
	})
	for name, tt := range map[string]struct {
		known   func() *account.Person // nil: no one
		linked  bool
		byEmail *account.User // has the address as another subject
		check   func(*account.SignIn) bool
	}{
		"another subject of the issuer gets one apart": {nil, false,
			&account.User{ID: "bob", Email: email, EmailVerified: true}, func(s *account.SignIn) bool {
				return s.IsNew && s.Link && s.User.Email == "" && s.User.ID != "bob"
			}},
		"a newcomer gets an account": {nil, false, nil, func(s *account.SignIn) bool {
			return s.IsNew && s.Link && s.User.Email == email && s.PersonalWorkspace != nil &&
				s.Workspaces["acme-slug"].Members[s.User.ID].Role == identity.Member
		}},
		"who has another name now is brought in line": {func() *account.Person {
			p := know()
			p.User.Name = "Old"
			return p
		}, true, nil, func(s *account.SignIn) bool {
			return !s.IsNew && !s.Link && s.User.ID == "ann" && s.User.Name == "Ann" && s.PersonalWorkspace == nil
		}},
		"so is whose role the rules would change": {func() *account.Person {
			p := know()
			p.Memberships = nil
			return p
		}, true, nil, func(s *account.SignIn) bool {
			return s.User.ID == "ann" && s.Workspaces["acme-slug"].Members["ann"].Role == identity.Member
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			if tt.known == nil {
				signedIn(s, nil, account.ErrUserNotFound)
			} else {
				signedIn(s, tt.known(), nil)
			}
			want := account.SignIn{Claims: claims, Org: org}
			var in account.SignIn
			person := &account.Person{}
			s.users.EXPECT().SignIn(s.ctx, identity.OrgID("org"), gomock.Any(), gomock.Any()).DoAndReturn(
				func(_ context.Context, _ identity.OrgID, askedIn account.SignIn,
					settle func(*account.SignIn) error) (*account.Person, error) {
					if !reflect.DeepEqual(askedIn, want) {
						t.Errorf("asked %+v", askedIn)
					}
					for range 2 { // the second run must not depend on the first
						in = askedIn
						if tt.linked {
							u := tt.known().User
							in.Linked = &u
						}
						if tt.byEmail != nil {
							in.ByEmail, in.HasSubject = tt.byEmail, true
						}
						w := acme()
						delete(w.Members, "ann")
						in.Workspaces = map[string]*account.Workspace{"acme-slug": w}
						if err := settle(&in); err != nil {
							return nil, err
						}
					}
					return person, nil
				})
			got, distant, err := s.SignIn(s.ctx, system, org, claims)
			require.NoError(t, err)
			if got != person || distant != in.NotJoined || (distant != nil) != (tt.byEmail != nil) || !tt.check(&in) {
				t.Errorf("SignIn settled on %+v", in)
			}
		})
	}
}

func TestLinkSignIn(t *testing.T) {
	const issuer = "https://issuer.example"
	org := &identity.Org{ID: "org", Issuers: []identity.Issuer{{URL: issuer}}}
	for name, tt := range map[string]struct {
		from identity.UserID // the user with that sign-in; empty: none
		want accounts.Linked
	}{
		"an unlinked sign-in becomes the person's": {"", accounts.Linked{To: "ann"}},
		"another's does too":                       {"bob", accounts.Linked{To: "ann", From: "bob"}},
		"their own stays theirs":                   {"ann", accounts.Linked{To: "ann"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			var person, from *account.Person
			tx := s.expectAtomically(t, 1)
			if tt.from == "bob" {
				tx.provided.EXPECT().End(s.ctx, system, session.ProviderSession{Issuer: issuer, Subject: "sub"},
					gomock.Any())
			}
			tx.users.EXPECT().Link(s.ctx, system, email, issuer, "sub", gomock.Any()).DoAndReturn(
				func(_ context.Context, _ identity.Actor, _, _, _ string,
					change func(person, from *account.Person) error) error {
					for range 2 { // the second run must not depend on the first
						person, from = &account.Person{User: account.User{ID: "ann", Org: "org"}}, nil
						if tt.from != "" {
							from = &account.Person{User: account.User{ID: tt.from, Org: "org"}}
						}
						if err := change(person, from); err != nil {
							return err
						}
					}
					return nil
				})
			got, err := s.LinkSignIn(s.ctx, system, org, email, issuer, "sub")
			require.NoError(t, err)
			if count := len(person.User.Recorded()); got != tt.want || (count == 1) != (tt.from != "ann") {
				t.Errorf("LinkSignIn = %+v, and told %d", got, count)
			}
		})
	}
	t.Run("what is no sign-in reaches no store", func(t *testing.T) {
		if got, err := newEnv(t).LinkSignIn(t.Context(), system, org, email, issuer+"/", "sub"); err == nil {
			t.Errorf("LinkSignIn = %+v", got)
		}
	})
}
