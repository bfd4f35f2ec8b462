package accounts_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestSignInCaptures(t *testing.T) {
	const issuer = "https://issuer.example"
	rule := identity.Capture{Domain: "example.com", Workspace: "acme-slug", Role: identity.Member}
	org := &identity.Org{
		ID: "org", SignUp: identity.SignUpOpen, Captures: []identity.Capture{rule},
		Issuers: []identity.Issuer{{URL: issuer, TrustEmail: true}},
	}
	claims := account.Claims{Issuer: issuer, Subject: "sub", Email: email, EmailVerified: true}
	for name, tt := range map[string]struct {
		found    error // of the workspace
		member   bool
		captured bool
		members  int64 // after it; one may be there
		joined   bool
	}{
		"a newcomer joins":                       {nil, false, true, 1, true},
		"who was captured before does not":       {nil, false, false, 0, false},
		"a member stays":                         {nil, true, false, 0, false},
		"a full workspace is left out":           {nil, false, true, 2, false},
		"a workspace that does not exist is too": {identity.ErrWorkspaceNotFound, false, false, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			s.used.Members = tt.members
			first, current := &account.Person{User: account.User{ID: "ann", Org: "org"}}, &account.Person{}
			w := acme()
			delete(w.Members, "ann")
			if tt.member {
				first.Memberships = []account.Membership{{Workspace: *w, Role: identity.Viewer}}
			}
			s.users.EXPECT().SignedIn(s.ctx, identity.OrgID("org"), issuer, "sub").Return(nil, account.ErrUserNotFound)
			s.users.EXPECT().SignIn(s.ctx, identity.OrgID("org"), gomock.Any(), gomock.Any()).Return(first, nil)
			s.workspaces.EXPECT().Find(s.ctx, identity.OrgID("org"), "acme-slug").Return(w, tt.found)
			if tt.found == nil && !tt.member {
				tx := s.expectAtomically(t, 1)
				recipient := system
				recipient.Workspace = "acme"
				if tt.joined {
					tx.expectFollowed("acme")
				}
				tx.captures.EXPECT().Capture(s.ctx, recipient, "acme-slug", identity.UserID("ann"),
					gomock.Any()).DoAndReturn(
					func(_ context.Context, _ identity.Actor, _ string, _ identity.UserID,
						change func(*account.Workspace) error) (bool, error) {
						if !tt.captured {
							return false, nil
						}
						return true, change(w)
					})
			}
			want := first
			if tt.joined {
				want = current
				s.users.EXPECT().SignedIn(s.ctx, identity.OrgID("org"), issuer, "sub").Return(current, nil)
			}
			p, _, err := s.SignIn(s.ctx, system, org, claims)
			require.NoError(t, err)
			assert.Equal(t, "SignIn", p, want)
		})
	}
}
