package account_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestWhoMaySignUp(t *testing.T) {
	rules := []identity.ClaimRule{
		{Issuer: issuer, Claim: "groups", Value: "dev", Workspace: "acme-slug", Role: identity.Member},
		{Issuer: issuer, Claim: "groups", Value: "ops", Operator: true},
		{Issuer: partner, Claim: "groups", Value: "guests", Workspace: "acme-slug", Role: identity.Viewer},
	}
	invite := func(role, inviter identity.Role, lasts time.Duration) []account.Pending {
		i := account.Invitation{Email: "ann@example.com", Role: role, ExpiresAt: signingIn.At.Add(lasts)}
		return []account.Pending{{Invitation: account.Invitation{ExpiresAt: now}, Inviter: identity.Owner},
			{Invitation: i, Inviter: inviter}}
	}
	open := invite(identity.Member, identity.Admin, time.Minute)
	for name, tt := range map[string]struct {
		signUp      identity.SignUp
		groups      []string
		invitations []account.Pending
		want        error
	}{
		"everyone where it is open":    {identity.SignUpOpen, nil, nil, nil},
		"no one where nothing is said": {"", []string{"dev"}, nil, account.ErrSignUpClosed},
		"no one without an invitation": {identity.SignUpInvited, nil, nil, account.ErrSignUpClosed},
		"not even by a rule": {identity.SignUpInvited, []string{"dev", "ops"}, nil,
			account.ErrSignUpClosed},
		"an invited person": {identity.SignUpInvited, nil, open, nil},
		"not after the invitation expired": {identity.SignUpInvited, nil,
			invite(identity.Member, identity.Admin, 0), account.ErrSignUpClosed},
		"nor after who invited has left": {identity.SignUpInvited, nil,
			invite(identity.Viewer, identity.NoRole, time.Minute), account.ErrSignUpClosed},
		"or may no longer invite": {identity.SignUpInvited, nil,
			invite(identity.Viewer, identity.Member, time.Minute), account.ErrSignUpClosed},
		"or not to that role": {identity.SignUpInvited, nil,
			invite(identity.Owner, identity.Admin, time.Minute), account.ErrSignUpClosed},
		"who gets a role by a rule": {identity.SignUpClaims, []string{"dev"}, nil, nil},
		"or becomes an operator":    {identity.SignUpClaims, []string{"ops"}, nil, nil},
		"no one by the rule of another issuer": {identity.SignUpClaims, []string{"guests"}, nil,
			account.ErrSignUpClosed},
		"no one whose claims give nothing": {identity.SignUpClaims, []string{"other"}, nil,
			account.ErrSignUpClosed},
		"but who is invited, whatever the rules": {identity.SignUpClaims, nil, open, nil},
	} {
		t.Run(name, func(t *testing.T) {
			org := shared(identity.Issuer{}, rules...)
			org.SignUp, org.OwnSpaces = tt.signUp, true
			settle := func(s account.SignIn) (account.SignIn, error) {
				w := acme()
				s.Claims = claims(func(c *account.Claims) { c.Raw = map[string]any{"groups": anys(tt.groups)} })
				s.Org, s.Workspaces = org, map[string]*account.Workspace{"acme-slug": w}
				err := s.Settle(signingIn)
				if err != nil && (s.User != nil || s.PersonalWorkspace != nil || s.IsNew || s.Link ||
					len(w.Recorded()) != 0) {
					t.Errorf("a refusal left %+v", s)
				}
				return s, err
			}
			s, err := settle(account.SignIn{Invitations: tt.invitations})
			require.ErrorIs(t, err, tt.want)
			if err == nil && (!s.IsNew || !s.Link || s.PersonalWorkspace == nil) {
				t.Errorf("got %+v", s)
			}
			for label, signIn := range map[string]account.SignIn{
				"who has signed in before": {Linked: user("ann", "ann@example.com", true)},
				"whose account was made":   {ByEmail: user("ann", "ann@example.com", true)},
			} {
				if s, err := settle(signIn); err != nil || s.IsNew || s.User.ID != "ann" {
					t.Errorf("%s: %+v, %v", label, s, err)
				}
			}
			_, err = settle(account.SignIn{Invitations: tt.invitations, ByEmail: user("bob", "ann@example.com", true),
				HasSubject: true})
			require.ErrorIs(t, err, tt.want) // a second subject with the address is a new person
		})
	}
}

func TestRequiredClaims(t *testing.T) {
	need := []identity.ClaimValue{{Claim: "hd", Value: "example.com"}, {Claim: "realm.staff", Value: "true"}}
	for name, tt := range map[string]struct {
		raw    string
		issuer string
		lacks  []identity.ClaimValue
	}{
		"a token that has all of them":           {`{"hd":"example.com","realm":{"staff":true}}`, issuer, nil},
		"a list that holds the value":            {`{"hd":["x","example.com"],"realm":{"staff":"true"}}`, issuer, nil},
		"one that lacks one":                     {`{"hd":"example.com"}`, issuer, need[1:]},
		"one with another value":                 {`{"hd":"example.org","realm":{"staff":true}}`, issuer, need[:1]},
		"one that lacks all":                     {`{}`, issuer, need},
		"another issuer has its own demands":     {`{}`, partner, nil},
		"and its tokens do not fulfil the first": {`{"hd":"example.com"}`, issuer, need[1:]},
	} {
		t.Run(name, func(t *testing.T) {
			org := shared(identity.Issuer{})
			org.Issuers[0].Require = need
			c := claims(func(c *account.Claims) { c.Issuer, c.Raw = tt.issuer, decoded(t, tt.raw).Raw })
			if diff := cmp.Diff(tt.lacks, c.Missing(org)); diff != "" {
				t.Error(diff)
			}
			// both have an account
			for _, signIn := range []account.SignIn{{}, {Linked: user("ann", "ann@example.com", true)}} {
				s := signIn
				s.Claims, s.Org = c, org
				if err := s.Settle(signingIn); (err != nil) != (tt.lacks != nil) || (err != nil &&
					(!errors.Is(err, account.ErrClaimMissing) || s.User != nil)) {
					t.Errorf("Settle: %v, %+v", err, s)
				}
			}
		})
	}
}

func TestWorkspacesByOperators(t *testing.T) {
	operator := person("ann")
	operator.Operator = true
	for name, tt := range map[string]struct {
		by   identity.Actor
		who  identity.WorkspacesBy
		want error
	}{
		"anyone may where nothing is said": {person("ann"), "", nil},
		"anyone may where anyone may":      {person("ann"), identity.WorkspacesByAnyone, nil},
		"not where operators may": {person("ann"), identity.WorkspacesByOperators,
			account.ErrWorkspacesByOperators},
		"an operator may":   {operator, identity.WorkspacesByOperators, nil},
		"so may the system": {identity.System("org", "", "cli", now), identity.WorkspacesByOperators, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := account.NewWorkspace(tt.by, &identity.Org{WorkspacesBy: tt.who}, "fresh", "")
			require.ErrorIs(t, err, tt.want)
		})
	}
	t.Run("a new user still gets the one that the org gives to each", func(t *testing.T) {
		org := withOwnSpaces()
		org.WorkspacesBy = identity.WorkspacesByOperators
		s := account.SignIn{Claims: claims(nil), Org: org}
		require.NoError(t, s.Settle(signingIn))
		if s.PersonalWorkspace == nil {
			t.Error("there is none")
		}
	})
}
