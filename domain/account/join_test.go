package account_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestNewInvitedUser(t *testing.T) {
	withIssuer := &identity.Org{Issuers: []identity.Issuer{{URL: "https://issuer.example", TrustEmail: true}}}
	for name, tt := range map[string]struct {
		change func(*account.Invitation)
		by     identity.Actor
		org    *identity.Org
		want   error
	}{
		"where no issuer is configured": {func(*account.Invitation) {}, browser(sessionAt), &identity.Org{}, nil},
		"not where people sign in": {func(*account.Invitation) {}, browser(sessionAt), withIssuer,
			account.ErrSignInRequired},
		"not by an expired one": {func(i *account.Invitation) { i.ExpiresAt = sessionAt }, browser(sessionAt),
			&identity.Org{}, account.ErrInvitationExpired},
		"not by one that was accepted": {func(i *account.Invitation) { i.Accepted = true }, browser(sessionAt),
			&identity.Org{}, account.ErrInvitationNotFound},
		"not by a user": {func(*account.Invitation) {}, identity.Actor{Org: "org", User: "ann", At: sessionAt},
			&identity.Org{}, account.ErrInvitationNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			i := &account.Invitation{Org: "org", Email: "bob@example.com", ExpiresAt: sessionAt.Add(time.Hour)}
			tt.change(i)
			u, err := i.NewInvitedUser(tt.by, tt.org, "Bob")
			require.ErrorIs(t, err, tt.want)
			if tt.want == nil && (u.Email != "bob@example.com" || u.Name != "Bob" || u.Operator ||
				u.EmailVerifiedBy != account.VerifiedByInvitation) {
				t.Errorf("the user is %+v", u)
			}
		})
	}
	t.Run("neither a token of an issuer nor a mailed link opens the account", func(t *testing.T) {
		i := &account.Invitation{Org: "org", Email: "bob@example.com", ExpiresAt: sessionAt.Add(time.Hour)}
		u, err := i.NewInvitedUser(browser(sessionAt), &identity.Org{}, "Bob")
		require.NoError(t, err)
		_, link, err := session.NewMailedLink(browser(sessionAt), u, session.LinkMails{})
		if link != nil || err != nil {
			t.Errorf("a link: %+v, %v", link, err)
		}
		withIssuer.SignUp = identity.SignUpOpen
		s := account.SignIn{
			Claims: account.Claims{Issuer: "https://issuer.example", Subject: "bob", Email: "bob@example.com",
				EmailVerified: true},
			Org: withIssuer, ByEmail: u,
		}
		if err := s.Settle(browser(sessionAt)); err != nil || s.User.ID == u.ID || s.NotJoined != u {
			t.Errorf("it settled as %+v, %v", s.User, err)
		}
	})
}
