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
	t.Run("the mailbox gets a link", func(t *testing.T) {
		_, link, err := session.NewMailedLink(browser(sessionAt), joined(t), session.LinkMails{})
		if err != nil || link == nil || link.Verifier() != account.VerifiedByMailbox {
			t.Errorf("a link: %+v, %v", link, err)
		}
	})
	t.Run("a token of an issuer takes the address, and does not open the account", func(t *testing.T) {
		u := joined(t)
		withIssuer.SignUp = identity.SignUpOpen
		s := account.SignIn{
			Claims: account.Claims{Issuer: "https://issuer.example", Subject: "bob", Email: "bob@example.com",
				EmailVerified: true},
			Org: withIssuer, ByEmail: u,
		}
		require.NoError(t, s.Settle(browser(sessionAt)))
		if s.User.ID == u.ID || s.User.Email != "bob@example.com" || !s.User.Confirmed() ||
			s.NotJoined != nil || s.Yielding != u || u.Email != "" || u.EmailVerified || u.EmailVerifiedBy != "" {
			t.Errorf("it settled as %+v; the account is %+v", s.User, u)
		}
	})
}

// joined returns a user who has joined by an invitation.
func joined(t *testing.T) *account.User {
	t.Helper()
	i := &account.Invitation{Org: "org", Email: "bob@example.com", ExpiresAt: sessionAt.Add(time.Hour)}
	u, err := i.NewInvitedUser(browser(sessionAt), &identity.Org{}, "Bob")
	require.NoError(t, err)
	return u
}
