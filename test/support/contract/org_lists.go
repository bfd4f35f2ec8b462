package contract

import (
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// peopleListed and workspacesListed check the lists of a whole org, which other tests add to.
func peopleListed(t *testing.T, a Adapter) {
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[1])
	fixture.ServiceKey(t, a.Stores, team.Admin, account.KeyDraft{Name: "deploys", Ceiling: identity.Member})
	for _, limit := range []int{2, 100} {
		all := fixture.Pages(t, limit, func(q page.Query) (account.UserPage, error) {
			return a.People.List(t.Context(), team.Org, q)
		})
		var emails []string
		found := map[identity.UserID]account.User{}
		for _, u := range all {
			emails = append(emails, account.EmailKey(u.Email))
			found[u.ID] = u
			if u.Service {
				t.Errorf("the bearer of a service key is listed: %+v", u)
			}
		}
		if !slices.IsSorted(emails) || len(found) != len(all) {
			t.Errorf("not by e-mail address, or someone twice: %v", emails)
		}
		owner, _, err := a.Users.FindByEmail(t.Context(), team.Org, found[team.Owner.User].Email)
		must(t, err)
		same(t, "person", found[team.Owner.User], *owner)
		if _, isListed := found[team.Viewer.User]; !isListed {
			t.Error("a viewer is not listed")
		}
		if _, isListed := found[other.Owner.User]; isListed {
			t.Error("a person of another org is listed")
		}
	}
}

func workspacesListed(t *testing.T, a Adapter) {
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[1])
	endedTeam := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := endedTeam.Owner
	_, err := a.Workspaces.Update(t.Context(), by, endedTeam.Workspace.ID, nil,
		func(w *account.Workspace) error { return w.Delete(by, nil) })
	must(t, err)
	for _, limit := range []int{2, 100} {
		all := fixture.Pages(t, limit, func(q page.Query) (account.WorkspacePage, error) {
			return a.Workspaces.List(t.Context(), team.Org, q)
		})
		found := map[identity.WorkspaceID]account.Workspace{}
		for _, w := range all {
			found[w.ID] = w
		}
		bySlug := func(a, b account.Workspace) int { return strings.Compare(a.Slug, b.Slug) }
		if !slices.IsSortedFunc(all, bySlug) || len(found) != len(all) {
			t.Errorf("not by slug, or one twice: %+v", all)
		}
		if w := found[team.Workspace.ID]; w.Slug != team.Workspace.Slug || !w.DeletedAt.IsZero() {
			t.Errorf("%+v", w)
		}
		if w, isListed := found[endedTeam.Workspace.ID]; !isListed || w.DeletedAt.IsZero() {
			t.Errorf("a deleted one: %+v", w)
		}
		if _, isListed := found[other.Workspace.ID]; isListed {
			t.Error("a workspace of another org is listed")
		}
	}
}
