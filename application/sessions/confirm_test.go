package sessions_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sessions"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestALinkConfirmsTheAddressOfItsUser(t *testing.T) {
	for name, tt := range map[string]struct {
		browser identity.UserID // who is signed in
		mailed  bool
		want    string
		ends    bool
	}{
		"in the browser that joined":     {"ann", true, account.VerifiedByMailbox, false},
		"in another browser":             {"", true, account.VerifiedByMailbox, true},
		"in another person's browser":    {"bob", true, account.VerifiedByMailbox, true},
		"that an operator has printed":   {"", false, account.VerifiedByOperator, true},
		"printed, in the joined browser": {"ann", false, account.VerifiedByOperator, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigningIn(t)
			s.person.User.EmailVerified, s.person.User.EmailVerifiedBy = true, account.VerifiedByInvitation
			token, link, err := session.NewLink(system, &s.person.User)
			require.NoError(t, err)
			link.Mailed = tt.mailed
			s.sessions.EXPECT().TakeLink(gomock.Any(), identity.OrgID("org"), token.Hash(), now).Return(link, nil)
			s.expectUser()
			s.people.EXPECT().ChangeAccess(gomock.Any(), system, identity.UserID("ann"), gomock.Any()).DoAndReturn(
				func(_ context.Context, _ identity.Actor, _ identity.UserID, change func(*account.Access) error) error {
					return change(&account.Access{User: &s.person.User})
				})
			passkey, previous := &account.Passkey{ID: "psk", Org: "org", User: "ann"}, openedFor(t, s)
			if tt.ends {
				s.passkeys.EXPECT().Update(gomock.Any(), system, identity.UserID("ann"), gomock.Any()).DoAndReturn(
					func(
						_ context.Context, _ identity.Actor, _ identity.UserID,
						change func(*account.Person, []*account.Passkey) (*account.Passkey, error),
					) error {
						_, err := change(&s.person, []*account.Passkey{passkey})
						return err
					})
				s.live = []*session.Session{previous}
				s.expectUpdate(nil)
			}
			s.expectUpdate(nil)
			out, err := s.Open(t.Context(), system, &identity.Org{ID: "org"}, token.Reveal(),
				sessions.Browser{User: tt.browser})
			require.NoError(t, err)
			if s.person.User.EmailVerifiedBy != tt.want || !out.User.Confirmed() {
				t.Errorf("the address is verified by %q", s.person.User.EmailVerifiedBy)
			}
			if passkey.RemovedAt.IsZero() == tt.ends || previous.EndedAt.IsZero() == tt.ends {
				t.Errorf("passkey %+v, session %+v", passkey, previous)
			}
		})
	}
}

// openedFor returns a session of the person.
func openedFor(t *testing.T, s *signingIn) *session.Session {
	t.Helper()
	out, _, err := session.Open(system, &s.person, session.ByInvitation, nil, "", nil)
	require.NoError(t, err)
	return out
}
