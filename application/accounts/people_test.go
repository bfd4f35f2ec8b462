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

// open is the org of the tests, which allows everything.
var open = &identity.Org{ID: "org"}

func TestDisableAndEnablePerson(t *testing.T) {
	operator := identity.Actor{Org: "org", User: "ops", Operator: true, Ceiling: identity.Owner, At: now}
	plain := operator
	plain.Operator = false
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{
		"an operator disables and enables": {operator, nil},
		"another may not":                  {plain, identity.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			a := &account.Access{User: &account.User{ID: "ann", Org: "org"}, Operators: []identity.UserID{"ops"}}
			s.people.EXPECT().ChangeAccess(s.ctx, tt.by, identity.UserID("ann"), gomock.Any()).MaxTimes(2).DoAndReturn(
				func(_ context.Context, _ identity.Actor, _ identity.UserID, change func(*account.Access) error) error {
					return change(a)
				})
			_, err := s.DisablePerson(s.ctx, tt.by, "ann", "left", false)
			require.ErrorIs(t, err, tt.want)
			assert.Equal(t, "disabled", !a.User.Enabled(), (tt.want == nil))
			require.ErrorIs(t, s.EnablePerson(s.ctx, tt.by, "ann", ""), tt.want)
			if !a.User.Enabled() {
				t.Error("the account is not enabled again")
			}
		})
	}
}

func TestSignInOfADisabledPerson(t *testing.T) {
	s := newEnv(t)
	p := &account.Person{User: account.User{ID: "ann", Org: "org", DisabledAt: now}}
	s.users.EXPECT().SignedIn(s.ctx, identity.OrgID("org"), "https://issuer", "ann").Return(p, nil)
	got, _, err := s.SignIn(s.ctx, system, open, account.Claims{Issuer: "https://issuer", Subject: "ann"})
	require.ErrorIs(t, err, identity.ErrUnauthenticated)
	if got != nil {
		t.Errorf("SignIn = %+v", got)
	}
}

func TestNoKeysForADisabledPerson(t *testing.T) {
	ann := &account.User{ID: "ann", Org: "org", Email: "ann@example.com", DisabledAt: now}
	s := newEnv(t)
	s.users.EXPECT().FindByEmail(s.ctx, identity.OrgID("org"), "ann@example.com").Return(ann, nil, nil)
	_, _, err := s.KeyFor(s.ctx, system, open, "ann@example.com", "acme", account.KeyDraft{Name: "k"})
	require.ErrorIs(t, err, account.ErrUserNotFound)
}
