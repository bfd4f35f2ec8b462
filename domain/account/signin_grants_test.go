package account_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestSettleMakesAnOwnSpace(t *testing.T) {
	for name, tt := range map[string]struct{ claimed, want string }{
		"named after them":                 {"Änn", "Änn"},
		"or not":                           {"", "My workspace"},
		"at most 100 characters of it":     {strings.Repeat("ä", 110), strings.Repeat("ä", 100)},
		"without their control characters": {"A\u0085nn\u009f\n", "Ann"},
	} {
		t.Run(name, func(t *testing.T) {
			s := account.SignIn{Claims: claims(func(c *account.Claims) { c.Name = tt.claimed }), Org: withOwnSpaces()}
			require.NoError(t, s.Settle(signingIn))
			item := s.PersonalWorkspace
			if item == nil || item.Name != tt.want || item.Slug != "u-"+string(s.User.ID[len(s.User.ID)-12:]) ||
				item.Org != "org" || item.Owners != 1 ||
				item.Members[s.User.ID].Role != identity.Owner || item.Members[s.User.ID].ByHand != identity.Owner {
				t.Fatalf("own = %+v", item)
			}
			if got := types(item.Log); !slices.Equal(got, []string{"workspace.created"}) ||
				item.Recorded()[0].Actor != s.User.ID {
				t.Errorf("recorded %+v", item.Recorded())
			}
		})
	}
	for name, s := range map[string]account.SignIn{
		"not for who is known":          {Org: withOwnSpaces(), Linked: user("ann", "ann@example.com", true)},
		"nor for who joins an account":  {Org: withOwnSpaces(), ByEmail: user("ann", "ann@example.com", true)},
		"nor where the org has no such": {Org: open()},
	} {
		t.Run(name, func(t *testing.T) {
			s.Claims = claims(nil)
			require.NoError(t, s.Settle(signingIn))
			if s.PersonalWorkspace != nil {
				t.Errorf("own = %+v", s.PersonalWorkspace)
			}
		})
	}
}

func TestSettleGrants(t *testing.T) {
	raw := func(groups ...string) account.Claims {
		return claims(func(c *account.Claims) { c.Raw = map[string]any{"groups": anys(groups)} })
	}
	grant := func(group, slug string, role identity.Role) identity.ClaimRule {
		return identity.ClaimRule{Claim: "groups", Value: group, Workspace: slug, Role: role}
	}
	rules := []identity.ClaimRule{grant("dev", "acme-slug", identity.Member),
		grant("lead", "acme-slug", identity.Admin), grant("dev", "gone-slug", identity.Viewer)}
	operators := append(slices.Clone(rules), identity.ClaimRule{Claim: "groups", Value: "ops", Operator: true})
	settle := func(t *testing.T, u *account.User, c account.Claims, rules []identity.ClaimRule,
		m account.Member) (*account.User, *account.Workspace) {
		t.Helper()
		w := acme()
		if m.Role != identity.NoRole {
			if m.User = u.ID; m.Role > m.ByHand {
				m.Granted = account.Granted{issuer: m.Role}
			}
			w.Members[u.ID] = m
		}
		s := account.SignIn{Claims: c, Org: open(rules...), Linked: u,
			Workspaces: map[string]*account.Workspace{"acme-slug": w}}
		require.NoError(t, s.Settle(signingIn))
		return s.User, w
	}
	for name, tt := range map[string]struct {
		claims account.Claims
		rules  []identity.ClaimRule
		member account.Member
		want   account.Member
		event  string
	}{
		"a group makes a member": {raw("dev"), rules, account.Member{},
			account.Member{Role: identity.Member}, "member.added"},
		"the highest of several counts": {raw("lead", "dev"), rules, account.Member{},
			account.Member{Role: identity.Admin}, "member.added"},
		"no group, no membership": {raw("other"), rules, account.Member{}, account.Member{}, ""},
		"who leaves the group leaves": {raw(), rules, account.Member{Role: identity.Admin}, account.Member{},
			"member.removed"},
		"or is lowered": {raw("dev"), rules, account.Member{Role: identity.Admin},
			account.Member{Role: identity.Member}, "member.updated"},
		"but not from a role given by hand": {raw("dev"), rules,
			account.Member{Role: identity.Admin, ByHand: identity.Admin},
			account.Member{Role: identity.Admin, ByHand: identity.Admin}, ""},
		"nor out": {raw(), rules,
			account.Member{Role: identity.Viewer, ByHand: identity.Viewer},
			account.Member{Role: identity.Viewer, ByHand: identity.Viewer}, ""},
		"nor further down than to that": {raw(), rules,
			account.Member{Role: identity.Admin, ByHand: identity.Viewer},
			account.Member{Role: identity.Viewer, ByHand: identity.Viewer}, "member.updated"},
		"what rules gave goes with them": {raw("dev"), nil,
			account.Member{Role: identity.Admin, ByHand: identity.Viewer},
			account.Member{Role: identity.Viewer, ByHand: identity.Viewer}, "member.updated"},
		"wholly, if they gave all": {raw("dev"), nil, account.Member{Role: identity.Admin}, account.Member{},
			"member.removed"},
		"also if others are left": {raw("ops"), operators[3:], account.Member{Role: identity.Admin},
			account.Member{}, "member.removed"},
		"but what was given by hand stays": {raw("ops"), operators[3:],
			account.Member{Role: identity.Admin, ByHand: identity.Admin},
			account.Member{Role: identity.Admin, ByHand: identity.Admin}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, w := settle(t, user("ann", "ann@example.com", true), tt.claims, tt.rules, tt.member)
			if m := w.Members["ann"]; m.Role != tt.want.Role || m.ByHand != tt.want.ByHand {
				t.Errorf("member %+v, want %+v", m, tt.want)
			}
			if got := types(w.Log); !slices.Equal(got,
				slices.DeleteFunc([]string{tt.event}, func(s string) bool { return s == "" })) {
				t.Errorf("recorded %q", got)
			}
		})
	}
	for name, tt := range map[string]struct {
		was    bool
		byHand bool
		claims account.Claims
		rules  []identity.ClaimRule
		want   bool
	}{
		"a group makes an operator":                     {false, false, raw("ops"), operators, true},
		"who leaves it is one no longer":                {true, false, raw("dev"), operators, false},
		"nor is one where no rule makes any":            {true, false, raw("ops"), rules, false},
		"or there is no rule":                           {true, false, raw("ops"), nil, false},
		"an operator by hand stays one":                 {true, true, raw("dev"), operators, true},
		"without any rule too":                          {true, true, raw("dev"), nil, true},
		"another group makes none":                      {false, false, raw("dev"), operators, false},
		"nor does this one without a rule that says so": {false, false, raw("ops"), rules, false},
	} {
		t.Run(name, func(t *testing.T) {
			u := user("ann", "ann@example.com", true)
			u.Operator, u.OperatorByHand = tt.was, tt.byHand
			u, _ = settle(t, u, tt.claims, tt.rules, account.Member{})
			assert.Equal(t, "operator", u.Operator, tt.want)
			if tt.was == tt.want {
				recorded(t, u.Log, signingIn, "ann")
				return
			}
			recorded(t, u.Log, signingIn, "ann", "user.updated")
			if data := u.Recorded()[0].Data; data["operator"] != (event.Change{From: tt.was, To: tt.want}) ||
				u.Revision != 4 {
				t.Errorf("data = %v, revision %d", data, u.Revision)
			}
		})
	}
	t.Run("the last owner stays", func(t *testing.T) {
		w := byRules(acme(), "owner", identity.NoRole)
		s := account.SignIn{Claims: raw(), Org: open(rules...), Linked: user("owner", "ann@example.com", true),
			Workspaces: map[string]*account.Workspace{"acme-slug": w}}
		require.NoError(t, s.Settle(signingIn))
		sameMembers(t, w, acmeWith(nil))
	})
}

func anys(in []string) []any {
	out := make([]any, len(in))
	for i, s := range in {
		out[i] = s
	}
	return out
}
