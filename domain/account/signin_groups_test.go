package account_test

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestASignInFollowsTheClaimOfGroups(t *testing.T) {
	for name, tt := range map[string]struct {
		listed  any           // in the claim
		issuer  string        // of the claim of groups; empty: that of the token
		in      bool          // before
		role    identity.Role // of ann in the workspace before; NoRole: no member
		group   account.Group
		full    bool
		want    bool
		because string // the events of the group
	}{
		"who is listed is put in": {listed: []any{"other", "team"}, role: identity.Member,
			group: account.Group{External: "team"}, want: true, because: "group_member.added"},
		"a single value is a list of one": {listed: "team", role: identity.Member,
			group: account.Group{External: "team"}, want: true, because: "group_member.added"},
		"who is in already stays": {listed: []any{"team"}, in: true, role: identity.Member,
			group: account.Group{External: "team"}, want: true},
		"who is not listed is taken out": {listed: []any{"teams"}, in: true, role: identity.Member,
			group: account.Group{External: "team"}, because: "group_member.removed"},
		"a token without the claim lists none": {in: true, role: identity.Member,
			group: account.Group{External: "team"}, because: "group_member.removed"},
		"another issuer decides nothing": {listed: []any{"other"}, issuer: "https://other.example", in: true,
			role: identity.Member, group: account.Group{External: "team"}, want: true},
		"nor puts anyone in": {listed: []any{"team"}, issuer: "https://other.example", role: identity.Member,
			group: account.Group{External: "team"}},
		"a group without an external id does not follow": {listed: []any{""}, in: true, role: identity.Member,
			want: true},
		"who is no member stays out": {listed: []any{"team"}, group: account.Group{External: "team"}},
		"a full group is left out": {listed: []any{"team"}, role: identity.Member,
			group: account.Group{External: "team"}, full: true},
		"also a group whose role is above the member's": {listed: []any{"team"}, role: identity.Viewer,
			group: account.Group{External: "team", Role: identity.Admin}, want: true, because: "group_member.added"},
	} {
		t.Run(name, func(t *testing.T) {
			w, u, g := acme(), user("ann", "ann@example.com", true), tt.group
			if tt.role != identity.NoRole {
				w.Members[u.ID] = account.Member{User: u.ID, Role: tt.role, ByHand: tt.role}
			}
			g.ID, g.Org, g.Workspace, g.People = "grp_1", w.Org, w.ID, map[identity.UserID]struct{}{}
			if tt.in {
				g.People[u.ID] = struct{}{}
			}
			for i := range account.MaxGroupPeople {
				if tt.full {
					g.People[identity.UserID(strconv.Itoa(i))] = struct{}{}
				}
			}
			org := open()
			org.GroupClaim = identity.GroupClaim{Issuer: issuer, Claim: "realm.groups"}
			if tt.issuer != "" {
				org.GroupClaim.Issuer = tt.issuer
			}
			in := account.SignIn{Org: org, Linked: u, Groups: []*account.Group{&g},
				Workspaces: map[string]*account.Workspace{w.Slug: w}, Claims: claims(func(c *account.Claims) {
					if tt.listed != nil {
						c.Raw = map[string]any{"realm": map[string]any{"groups": tt.listed}}
					}
				})}
			require.NoError(t, in.Settle(signingIn))
			if _, isIn := g.People[u.ID]; isIn != tt.want {
				t.Errorf("in the group: %v", isIn)
			}
			if got := types(g.Log); !slices.Equal(got,
				slices.DeleteFunc([]string{tt.because}, func(s string) bool { return s == "" })) {
				t.Errorf("recorded %q", got)
			}
			if m := w.Members[u.ID]; m.Role != max(tt.role, g.Role) {
				t.Errorf("the member is %+v", m)
			}
		})
	}
}

func TestASignInPutsAPersonIntoAtMostFiftyGroups(t *testing.T) {
	w, u := acme(), user("ann", "ann@example.com", true)
	w.Members[u.ID] = account.Member{User: u.ID, Role: identity.Member, ByHand: identity.Member, Groups: 48}
	var groups []*account.Group
	for _, id := range []identity.UserID{"grp_1", "grp_2", "grp_3"} {
		groups = append(groups, &account.Group{ID: id, Org: w.Org, Workspace: w.ID, External: "team",
			People: map[identity.UserID]struct{}{}})
	}
	org := open()
	org.GroupClaim = identity.GroupClaim{Issuer: issuer, Claim: "groups"}
	in := account.SignIn{Org: org, Linked: u, Groups: groups, Workspaces: map[string]*account.Workspace{w.Slug: w},
		Claims: claims(func(c *account.Claims) { c.Raw = map[string]any{"groups": "team"} })}
	require.NoError(t, in.Settle(signingIn))
	for i, g := range groups {
		if got := slices.Collect(maps.Keys(g.People)); len(got) != max(0, min(1, 2-i)) {
			t.Errorf("group %d has %v", i, got)
		}
	}
}
