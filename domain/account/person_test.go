package account_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestSettled(t *testing.T) {
	rules := []identity.ClaimRule{{Claim: "group", Value: "dev", Workspace: "acme-slug", Role: identity.Member},
		{Claim: "group", Value: "ops", Operator: true}}
	in := func(role, byHand identity.Role) []account.Membership {
		var grantedGranted account.Granted
		if role > byHand {
			grantedGranted = account.Granted{issuer: role}
		}
		return []account.Membership{{Workspace: account.Workspace{Slug: "beta-slug"}, Role: identity.Owner,
			ByHand: identity.Owner}, {Workspace: *acme(), Role: role, ByHand: byHand, Granted: grantedGranted}}
	}
	group := func(name string) func(*account.Claims) {
		return func(c *account.Claims) { c.Raw = map[string]any{"group": name} }
	}
	for name, tt := range map[string]struct {
		u      func(*account.User)
		m      []account.Membership
		claims func(*account.Claims)
		rules  []identity.ClaimRule
		want   bool
	}{
		"nothing is new":                         {nil, nil, nil, nil, true},
		"another token, though it says the same": {nil, nil, issued(time.Second), nil, false},
		"an older one, though it says other": {nil, nil,
			func(c *account.Claims) { issued(-1)(c); c.Name = "Anna" }, nil, true},
		"one that does not tell its age": {nil, nil,
			func(c *account.Claims) { c.IssuedAt, c.Name = time.Time{}, "Anna" }, nil, true},
		"another name":                            {nil, nil, func(c *account.Claims) { c.Name = "Anna" }, nil, false},
		"another address":                         {nil, nil, func(c *account.Claims) { c.Email = "anna@example.com" }, nil, false},
		"one that is not vouched for":             {nil, nil, func(c *account.Claims) { c.Email, c.EmailVerified = "anna@example.com", false }, nil, true},
		"what is no address":                      {nil, nil, func(c *account.Claims) { c.Email = "anna" }, nil, true},
		"an address that is vouched for only now": {func(u *account.User) { u.EmailVerified = false }, nil, nil, nil, false},
		"a role that is due":                      {nil, nil, group("dev"), rules, false},
		"one that is given": {nil, in(identity.Member, identity.NoRole), group("dev"),
			rules, true},
		"one that is too high": {nil, in(identity.Admin, identity.NoRole), group("dev"), rules, false},
		"one that is no longer due": {nil, in(identity.Member, identity.NoRole), group("other"),
			rules, false},
		"by hand it may be higher":            {nil, in(identity.Admin, identity.Admin), group("dev"), rules, true},
		"but not lower":                       {nil, in(identity.Viewer, identity.Viewer), group("dev"), rules, false},
		"by hand it may be without a group":   {nil, in(identity.Viewer, identity.Viewer), group("other"), rules, true},
		"what was raised from by hand is due": {nil, in(identity.Admin, identity.Viewer), group("dev"), rules, false},
		"as it is where it fits":              {nil, in(identity.Member, identity.Viewer), group("dev"), rules, true},
		"and where no group is left": {nil, in(identity.Member, identity.Viewer), group("other"),
			rules, false},
		"without rules nothing is due": {nil, in(identity.Member, identity.Member), group("dev"), nil, true},
		"but what they gave goes with them": {nil, in(identity.Member, identity.NoRole), group("dev"),
			nil, false},
		"also if another workspace has one": {nil, in(identity.Member, identity.NoRole), group("dev"),
			[]identity.ClaimRule{{Claim: "group", Value: "other", Workspace: "gamma-slug", Role: identity.Member}},
			false},
		"an operator is due": {nil, nil, group("ops"), rules, false},
		"one is no longer": {func(u *account.User) {
			u.Operator, u.OperatorBy = true,
				[]string{issuer}
		}, nil, group("other"), rules, false},
		"one who is": {func(u *account.User) {
			u.Operator, u.OperatorBy = true,
				[]string{issuer}
		}, nil, group("ops"), rules, true},
		"an operator by hand": {func(u *account.User) { u.Operator, u.OperatorByHand = true, true }, nil,
			group("other"), rules, true},
		"an operator whose rule was removed": {func(u *account.User) {
			u.Operator, u.OperatorBy = true,
				[]string{issuer}
		}, in(identity.Member, identity.NoRole), group("dev"), rules[:1], false},
	} {
		t.Run(name, func(t *testing.T) {
			p := account.Person{User: *user("ann", "ann@example.com", true), Memberships: tt.m,
				IssuedAt: claims(nil).IssuedAt}
			if tt.u != nil {
				tt.u(&p.User)
			}
			assert.Equal(t, "Settled", p.Settled(claims(tt.claims), open(tt.rules...)), tt.want)
		})
	}
}

// TestSettledIsSettled compares Settled with Settle: a person is settled if Settle would change
// nothing. Settle leaves every person settled, unless the claims ask for something impossible.
func TestSettledIsSettled(t *testing.T) {
	slugs := []string{"acme-slug", "beta-slug"}
	rapid.Check(t, func(t *rapid.T) {
		var rules []identity.ClaimRule
		for range rapid.IntRange(0, 4).Draw(t, "rules") {
			rules = append(rules, identity.ClaimRule{
				Claim: "groups", Value: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "value"),
				Operator:  rapid.Bool().Draw(t, "grants operator"),
				Workspace: rapid.SampledFrom(append(slugs, "", "never-was")).Draw(t, "workspace"),
				Role:      everyRole.Draw(t, "role"),
			})
		}
		org := open(rules...)
		org.Issuers = append(org.Issuers, identity.Issuer{URL: partner, EmailDomains: []string{"partner.example"},
			TrustEmail: rapid.Bool().Draw(t, "trusts the partner")})
		org.Issuers[0].TrustEmail = rapid.IntRange(0, 9).Draw(t, "trusts the issuer") > 0
		for i := range org.ClaimRules {
			org.ClaimRules[i].Issuer = rapid.SampledFrom([]string{issuer, issuer, partner}).Draw(t, "rule of")
		}
		give := func(role, byHand identity.Role) account.Granted {
			by := rapid.SampledFrom([]string{"", issuer, partner, "https://gone.example"}).Draw(t, "given by")
			if role <= byHand || by == "" {
				return nil
			}
			return account.Granted{by: role}
		}
		c := claims(func(c *account.Claims) {
			c.Issuer = rapid.SampledFrom([]string{issuer, partner}).Draw(t, "signed by")
			c.Name = rapid.SampledFrom([]string{"Ann", "", "Anna", "A\x00nn", strings.Repeat("x", 130)}).Draw(t, "name")
			c.Email, c.EmailVerified = rapid.SampledFrom([]string{"ann@example.com", "ANN@example.com", "",
				"new@example.com", "none"}).Draw(t, "email"), rapid.Bool().Draw(t, "verified")
			c.Raw = map[string]any{
				"groups": anys(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3).Draw(t, "groups"))}
		})
		u := user("ann", rapid.SampledFrom([]string{"ann@example.com", ""}).Draw(t, "has"),
			rapid.Bool().Draw(t, "has verified"))
		u.OperatorByHand = rapid.Bool().Draw(t, "operator by hand")
		u.Operator = u.OperatorByHand || rapid.Bool().Draw(t, "operator")
		u.OperatorBy = rapid.SampledFrom([][]string{nil, {issuer}, {partner}, {issuer, partner}}).Draw(t, "operator by")
		u.EmailVerifiedBy = rapid.SampledFrom([]string{u.EmailVerifiedBy, partner, account.VerifiedByOperator}).Draw(t,
			"has verified by")
		workspaces := map[string]*account.Workspace{}
		for _, slug := range slugs {
			w := acme()
			w.ID, w.Slug = identity.WorkspaceID(slug), slug
			if role := everyRole.Draw(t, "is"); role != identity.NoRole {
				byHand := min(role, everyRole.Draw(t, "by hand"))
				w.Members["ann"] = account.Member{User: "ann", Role: role, ByHand: byHand, Granted: give(role, byHand),
					Revision: 1}
				if role == identity.Owner {
					w.Owners++
				}
			}
			workspaces[slug] = w
		}
		person := func(newest time.Time) *account.Person {
			p := &account.Person{User: *u, IssuedAt: newest}
			for _, slug := range slugs {
				if m := workspaces[slug].Members["ann"]; m.Role != identity.NoRole {
					p.Memberships = append(p.Memberships, account.Membership{Workspace: *workspaces[slug], Role: m.Role,
						ByHand: m.ByHand, Granted: m.Granted})
				}
			}
			return p
		}
		namedWorkspaces := map[string]*account.Workspace{} // as a store loads them
		for _, r := range org.ClaimRules {
			if w := workspaces[r.Workspace]; w != nil {
				namedWorkspaces[r.Workspace] = w
			}
		}
		for slug, w := range workspaces {
			if m := w.Members["ann"]; m.Role > m.ByHand {
				namedWorkspaces[slug] = w
			}
		}
		newest := rapid.SampledFrom([]time.Time{{}, now.Add(-1), now, now.Add(1)}).Draw(t, "newest")
		isSettled := person(newest).Settled(c, org)
		s := account.SignIn{Claims: c, Org: org, Linked: u, IssuedAt: newest, Workspaces: namedWorkspaces}
		require.NoError(t, s.Settle(signingIn))
		actions := types(u.Log)
		for _, w := range workspaces {
			actions = append(actions, types(w.Log)...)
		}
		if (isSettled || c.IssuedAt.Before(newest)) && (len(actions) != 0 || s.IssuedAt != newest) {
			t.Fatalf("it was settled, and Settle recorded %q", actions)
		}
		_, lost := c.Grants(org.ClaimRules).Roles["never-was"] // granted in a workspace that does not exist
		if !lost && !person(s.IssuedAt).Settled(c, org) {
			t.Fatalf("after Settle it is not settled: %+v", person(s.IssuedAt))
		}
	})
}

func TestSelect(t *testing.T) {
	local := account.Membership{Workspace: account.Workspace{ID: "wsp_here", Slug: "here"}, Role: identity.Viewer}
	other := account.Membership{Workspace: account.Workspace{ID: "wsp_there", Slug: "there"}, Role: identity.Owner}
	empty := account.Membership{}
	pairs, one := []account.Membership{local, other}, []account.Membership{local}
	for name, tt := range map[string]struct {
		in      []account.Membership
		dflt    identity.WorkspaceID
		named   string
		want    account.Membership // where the request is safe
		err     error
		unsafe  account.Membership
		errElse error // where it is not
	}{
		"by id":                             {pairs, "", "wsp_there", other, nil, other, nil},
		"by slug":                           {pairs, "", "there", other, nil, other, nil},
		"the name comes before the default": {pairs, "wsp_here", "there", other, nil, other, nil},
		"one that the caller is not in": {pairs, "wsp_here", "elsewhere", empty, identity.ErrWorkspaceNotFound,
			empty, identity.ErrWorkspaceNotFound},
		"though there be only one": {one, "wsp_here", "there", empty, identity.ErrWorkspaceNotFound, empty,
			identity.ErrWorkspaceNotFound},
		"a part of a slug names nothing": {pairs, "", "the", empty, identity.ErrWorkspaceNotFound, empty,
			identity.ErrWorkspaceNotFound},
		"a slug is told by its case": {pairs, "", "There", empty, identity.ErrWorkspaceNotFound, empty,
			identity.ErrWorkspaceNotFound},
		"the only one needs no name": {one, "", "", local, nil, local, nil},
		"whatever the default is":    {one, "wsp_there", "", local, nil, local, nil},
		"the default serves for reading alone": {pairs, "wsp_there", "", other, nil, empty,
			identity.ErrWorkspaceRequired},
		"one that the caller has left does not": {pairs, "wsp_left", "", empty, identity.ErrWorkspaceRequired, empty,
			identity.ErrWorkspaceRequired},
		"without a default nothing tells": {pairs, "", "", empty, identity.ErrWorkspaceRequired, empty,
			identity.ErrWorkspaceRequired},
		"who is nowhere": {nil, "wsp_here", "", empty, identity.ErrWorkspaceRequired, empty,
			identity.ErrWorkspaceRequired},
		"who is nowhere, naming one": {nil, "", "here", empty, identity.ErrWorkspaceNotFound, empty,
			identity.ErrWorkspaceNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			p := account.Person{User: account.User{ID: "ann", DefaultWorkspace: tt.dflt}, Memberships: tt.in}
			for _, safe := range []bool{true, false} {
				want, wantError := tt.want, tt.err
				if !safe {
					want, wantError = tt.unsafe, tt.errElse
				}
				got, err := p.Select(tt.named, safe)
				require.ErrorIs(t, err, wantError)
				if !cmp.Equal(got, want, cmpopts.IgnoreTypes(event.Log{})) {
					t.Errorf("Select(%q, %v) = %+v", tt.named, safe, got)
				}
			}
		})
	}
	t.Run("an API key has its own workspace, and no other", func(t *testing.T) {
		p := account.Principal{Membership: local}
		for name, want := range map[string]error{"": nil, "here": nil, "wsp_here": nil,
			"there": identity.ErrWorkspaceMismatch, "never-was": identity.ErrWorkspaceMismatch,
			"Here": identity.ErrWorkspaceMismatch} {
			got, err := p.Select(name)
			require.ErrorIs(t, err, want)
			if (got.Role == local.Role) != (want == nil) {
				t.Errorf("Select(%q) = %+v", name, got)
			}
		}
	})
	t.Run("an API key shows of the memberships its own alone", func(t *testing.T) {
		if got := account.VisibleMemberships(keyed(person("ann"), "wsp_there", identity.Owner), pairs); len(got) != 1 ||
			got[0].Workspace.ID != "wsp_there" {
			t.Errorf("Seen = %+v", got)
		}
		if got := account.VisibleMemberships(person("ann"), pairs); len(got) != 2 || len(pairs) != 2 {
			t.Errorf("Seen = %+v", got)
		}
	})
}
