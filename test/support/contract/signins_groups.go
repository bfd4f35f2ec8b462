package contract

import (
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func signInFollowsGroups(t *testing.T, a Adapter) {
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws := team.Workspace
	group := func(external string, role identity.Role) (user identity.UserID) {
		t.Helper()
		must(t, a.Groups.Add(t.Context(), team.Admin, func(w *account.Workspace, count int) (*account.Group, error) {
			g, err := w.NewGroup(team.Admin, count,
				account.GroupDraft{Name: id.New("g"), Role: role, External: external})
			if err == nil {
				user = g.ID
			}
			return g, err
		}))
		return user
	}
	authors, chiefs, byHand := group("authors", identity.NoRole), group("chiefs", identity.Admin), addGroup(t, a, team,
		team.Member.User)
	org := anyoneOf(identity.ClaimRule{Issuer: issuer, Claim: "groups", Value: "dev", Workspace: ws.Slug,
		Role: identity.Viewer})
	org.GroupClaim = identity.GroupClaim{Issuer: issuer, Claim: "groups"}
	for _, step := range []struct {
		when, name string
		listed     []any
		authors    bool
		chiefs     bool
		role       identity.Role
	}{
		{"a member signs in with both groups", "member", []any{"authors", "chiefs"}, true, true, identity.Admin},
		{"signs in again", "member", []any{"chiefs", "authors"}, true, true, identity.Admin},
		{"leaves one", "member", []any{"authors"}, true, false, identity.Member},
		{"leaves both", "member", nil, false, false, identity.Member},
		{"joins one", "member", []any{"chiefs"}, false, true, identity.Admin},
		{"a new person joins the workspace by a rule", "new", []any{"dev", "authors"}, true, false, identity.Viewer},
		{"leaves workspace and group", "new", nil, false, false, identity.NoRole},
		{"a new person without a workspace", "stranger", []any{"authors"}, false, false, identity.NoRole},
	} {
		t.Run(step.when, func(t *testing.T) {
			c := claimsOf(team, step.name)
			c.Raw = map[string]any{"groups": step.listed}
			p, err := trySignIn(t, a.Stores, team.Org, account.SignIn{Claims: c, Org: org})
			must(t, err)
			assert.Equal(t, "one of the authors", slices.Contains(peopleIn(t, a, ws.ID, authors), p.User.ID),
				step.authors)
			assert.Equal(t, "one of the chiefs", slices.Contains(peopleIn(t, a, ws.ID, chiefs), p.User.ID), step.chiefs)
			role := identity.NoRole
			for _, m := range p.Memberships {
				if m.Workspace.ID == ws.ID {
					role = m.Role
					assert.Equal(t, "grouped", m.Grouped, (step.authors || step.chiefs || step.name == "member"))
				}
			}
			assert.Equal(t, "the role", role, step.role)
		})
	}
	same(t, "a group without external id", peopleIn(t, a, ws.ID, byHand), []identity.UserID{team.Member.User})
}
