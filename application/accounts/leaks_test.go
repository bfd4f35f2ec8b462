package accounts_test

import (
	"context"
	"strings"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestEndLeaked(t *testing.T) {
	reporter := identity.System("elsewhere", "", "sign-in", now)
	token := account.NewToken()
	leaks := []account.Leak{{Token: "garbage"}, {Token: token.Reveal()}}
	ownedKey := func(w identity.WorkspaceID) *account.Key {
		return &account.Key{ID: "k", Org: "org", Workspace: w, User: "ann", Name: "CI http://evil.example.com",
			Hint: "k3Qz"}
	}
	verifiedUser := account.User{
		ID: "ann", Email: "ann@example.com", EmailVerified: true, EmailVerifiedBy: account.VerifiedByOperator,
	}
	for name, tt := range map[string]struct {
		found  error
		ended  bool // before the report
		person account.User
		mailed bool
	}{
		"it ends, and its person gets a mail": {nil, false, verifiedUser, true},
		"a person without a verified address is not": {nil, false, account.User{ID: "ann", Email: "ann@example.com"},
			false},
		"one that ended before causes no mail": {nil, true, verifiedUser, false},
		"a token that no key has does nothing": {account.ErrKeyNotFound, false, verifiedUser, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			s.keys.EXPECT().Holder(s.ctx, token.Hash()).Return(
				identity.OrgID("org"), identity.WorkspaceID("acme"), identity.KeyID("k"), tt.found)
			in := reporter
			in.Org, in.Workspace = "org", "acme"
			var k *account.Key
			s.keys.EXPECT().Update(s.ctx, in, identity.KeyID("k"), gomock.Any()).DoAndReturn(func(
				_ context.Context, _ identity.Actor, _ identity.KeyID,
				change func(*account.Workspace, *account.Key, []*account.Key) error,
			) (*account.Key, error) {
				for range 2 { // the second run must not depend on the first
					k = ownedKey("acme")
					if tt.ended {
						k.RevokedAt = now
					}
					if err := change(&account.Workspace{ID: "acme", Org: "org"}, k, nil); err != nil {
						return nil, err
					}
				}
				return k, nil
			}).MaxTimes(1)
			s.users.EXPECT().Get(s.ctx, identity.OrgID("org"), identity.UserID("ann")).Return(
				&tt.person, nil, nil).MaxTimes(1)
			mails, err := s.EndLeaked(s.ctx, reporter, leaks)
			require.NoError(t, err)
			if tt.found == nil && k.Live(now) {
				t.Error("the key is still live")
			}
			if (len(mails) == 1) != tt.mailed {
				t.Fatalf("the mails are %+v", mails)
			}
			for _, m := range mails {
				if m.To != "ann@example.com" || strings.Contains(m.Text, token.Reveal()) ||
					strings.Contains(m.Text, "://") || !strings.Contains(m.Text, "k3Qz") {
					t.Errorf("the mail is %+v", m)
				}
			}
		})
	}
	t.Run("an outage is returned, so that the reporter repeats it", func(t *testing.T) {
		s := newEnv(t)
		s.keys.EXPECT().Holder(s.ctx, token.Hash()).Return(
			identity.OrgID(""), identity.WorkspaceID(""), identity.KeyID(""), errOutage)
		_, err := s.EndLeaked(s.ctx, reporter, leaks)
		require.ErrorIs(t, err, errOutage)
	})
	t.Run("all mails are tried", func(t *testing.T) {
		s := newEnv(t)
		one, two := ports.Mail{To: "a@example.com"}, ports.Mail{To: "b@example.com"}
		s.mailer.EXPECT().Send(s.ctx, one).Return(errOutage)
		s.mailer.EXPECT().Send(s.ctx, two)
		require.ErrorIs(t, s.Alert(s.ctx, []ports.Mail{one, two}), errOutage)
	})
}
