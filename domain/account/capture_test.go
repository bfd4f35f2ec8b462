package account_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestCapture(t *testing.T) {
	rule := identity.Capture{Domain: "corp.test", Workspace: "acme-slug", Role: identity.Member}
	system := identity.System("org", "", "sign-in", sessionAt)
	t.Run("makes a person a member, as if by hand", func(t *testing.T) {
		w := acme()
		require.NoError(t, w.Capture(system, "newcomer", rule))
		m := w.Members["newcomer"]
		if m.Role != identity.Member || m.ByHand != identity.Member {
			t.Errorf("the member is %+v", m)
		}
		e := w.Recorded()
		if len(e) != 1 || e[0].Type != "member.added" || e[0].Data["email_domain"] != "corp.test" {
			t.Errorf("events %+v", e)
		}
	})
	t.Run("leaves a member as they are", func(t *testing.T) {
		w := acme()
		for user, m := range w.Members {
			require.NoError(t, w.Capture(system, user, rule))
			if w.Members[user].Role != m.Role || len(w.Recorded()) > 0 {
				t.Errorf("%s became %+v", user, w.Members[user])
			}
		}
	})
	t.Run("is for the system only, in its org, while the workspace exists", func(t *testing.T) {
		w := acme()
		person, foreign := system, system
		person.User, foreign.Org = "ann", "other"
		for _, by := range []identity.Actor{person, foreign} {
			require.ErrorIs(t, w.Capture(by, "newcomer", rule), identity.ErrWorkspaceNotFound)
		}
		w.DeletedAt = sessionAt
		require.ErrorIs(t, w.Capture(system, "newcomer", rule), identity.ErrWorkspaceNotFound)
	})
}

func TestADomainThatAWorkspaceCapturesSignsUp(t *testing.T) {
	vouches := identity.Issuer{URL: issuer, TrustEmail: true}
	for name, tt := range map[string]struct {
		issuer   identity.Issuer
		email    string
		verified bool
		want     error
	}{
		"a verified address of the domain": {vouches, "new@Corp.Test", true, nil},
		"an address of another domain":     {vouches, "new@sub.corp.test", true, account.ErrSignUpClosed},
		"an address that is not verified":  {vouches, "new@corp.test", false, account.ErrSignUpClosed},
		"an issuer that may not vouch for it": {identity.Issuer{URL: issuer}, "new@corp.test", true,
			account.ErrSignUpClosed},
		"an issuer of other domains": {identity.Issuer{URL: issuer, TrustEmail: true, EmailDomains: []string{"x.test"}},
			"new@corp.test", true, account.ErrSignUpClosed},
	} {
		t.Run(name, func(t *testing.T) {
			org := &identity.Org{
				ID: "org", SignUp: identity.SignUpClaims, Issuers: []identity.Issuer{tt.issuer},
				Captures: []identity.Capture{{Domain: "corp.test", Workspace: "acme-slug", Role: identity.Member}},
			}
			in := account.SignIn{Org: org, Claims: account.Claims{
				Issuer: issuer, Subject: "s", Email: tt.email, EmailVerified: tt.verified,
			}}
			assert.ErrorIs(t, in.Settle(identity.System("org", "", "sign-in", sessionAt)), tt.want)
		})
	}
	w := acme()
	w.Slug = "old"
	org := &identity.Org{Captures: []identity.Capture{{Workspace: "acme-slug"}}}
	require.ErrorIs(t, w.Change(person("admin"), nil, org, account.WorkspaceChanges{Slug: new("acme-slug")}),
		account.ErrSlugTaken)
}
