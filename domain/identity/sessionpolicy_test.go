package identity_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestWhoNeedsASecondFactor(t *testing.T) {
	admins := identity.SessionPolicy{SecondFactorFrom: identity.Admin}
	inSession := func(role identity.Role) identity.Actor {
		return identity.Actor{User: "ann", Session: "ses_1", Role: role}
	}
	change := func(by identity.Actor, change func(*identity.Actor)) identity.Actor {
		change(&by)
		return by
	}
	for name, tt := range map[string]struct {
		policy identity.SessionPolicy
		by     identity.Actor
		want   error
	}{
		"no one without a policy": {identity.SessionPolicy{}, inSession(identity.Owner), nil},
		"not a lower role":        {admins, inSession(identity.Member), nil},
		"the role that is named":  {admins, inSession(identity.Admin), identity.ErrSecondFactorRequired},
		"a higher role":           {admins, inSession(identity.Owner), identity.ErrSecondFactorRequired},
		"everyone from viewers up": {identity.SessionPolicy{SecondFactorFrom: identity.Viewer},
			inSession(identity.Viewer), identity.ErrSecondFactorRequired},
		"an operator without a role": {admins,
			change(inSession(identity.NoRole), func(by *identity.Actor) { by.Operator = true }),
			identity.ErrSecondFactorRequired},
		"not a session that showed one": {admins,
			change(inSession(identity.Owner), func(by *identity.Actor) { by.SecondFactor = true }), nil},
		"a session that an API key opened": {admins,
			change(inSession(identity.Owner), func(by *identity.Actor) { by.Key = "key_1" }),
			identity.ErrSecondFactorRequired},
		"not an API key": {admins, identity.Actor{User: "ann", Key: "key_1", Role: identity.Owner}, nil},
		"a token of an issuer": {admins, identity.Actor{User: "ann", Role: identity.Owner},
			identity.ErrSecondFactorRequired},
		"not the system": {admins, identity.Actor{Role: identity.Owner}, nil},
	} {
		t.Run(name, func(t *testing.T) { require.ErrorIs(t, tt.policy.Check(tt.by), tt.want) })
	}
}

func TestPasskeysAreChangedWithASecondFactor(t *testing.T) {
	weak := identity.Actor{User: "ann", Session: "ses_1"}
	strong := weak
	strong.SecondFactor = true
	policy := identity.SessionPolicy{SecondFactorFrom: identity.Owner}
	for name, tt := range map[string]struct {
		policy identity.SessionPolicy
		by     identity.Actor
		count  int
		want   error
	}{
		"the first one is added by any session": {policy, weak, 0, nil},
		"further ones are not":                  {policy, weak, 1, identity.ErrSecondFactorRequired},
		"but by a session that showed one":      {policy, strong, 1, nil},
		"and without a policy":                  {identity.SessionPolicy{}, weak, 1, nil},
	} {
		t.Run(name, func(t *testing.T) { require.ErrorIs(t, tt.policy.CheckPasskeys(tt.by, tt.count), tt.want) })
	}
}
