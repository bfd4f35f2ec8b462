package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// directoryOf returns an org with a directory.
func directoryOf(org identity.OrgID) *identity.Org {
	return &identity.Org{ID: org, SCIM: &identity.SCIM{}}
}

// listed adds a person to the directory of the first org.
func listed(t testing.TB, a Adapter, name, external string) *account.DirectoryUser {
	t.Helper()
	by := identity.System(a.Orgs[0], "", "scim", fixture.At)
	u, err := account.NewDirectoryUser(by, directoryOf(by.Org), account.DirectoryPerson{UserName: name,
		ExternalID: external, GivenName: "Ann", FamilyName: "Lee", Display: "Ann Lee", Email: name, EmailType: "work",
		Active: true})
	must(t, err)
	person, err := account.NewUser(by, name, "Ann Lee", false)
	must(t, err)
	must(t, a.Users.Add(t.Context(), person))
	u.ID = person.ID
	must(t, a.DirectoryUsers.AddUser(t.Context(), by, u))
	return u
}

// Directory is the suite for ports.DirectoryUsers and ports.DirectoryGroups.
func Directory(t *testing.T, open Opener) {
	a := open(t)
	org, ctx := a.Orgs[0], t.Context()
	by := identity.System(org, "", "scim", fixture.At.Add(time.Hour))
	ann, bob := listed(t, a, "Ann@dir.example", "ext-ann"), listed(t, a, "bob@dir.example", "")
	t.Run("a user is found by id, by name in any case, by external id and by address", func(t *testing.T) {
		got, err := a.DirectoryUsers.User(ctx, org, ann.ID)
		must(t, err)
		want := *ann
		want.Email = "ann@dir.example" // as addresses are compared
		same(t, "user", got, &want)
		comparison := func(f account.DirectoryField, o account.DirectoryOperator,
			value string) account.DirectoryFilter {
			return account.DirectoryFilter{Field: f, Operator: o, Value: value}
		}
		id := comparison(account.DirectoryID, account.DirectoryEqual, string(ann.ID))
		no := comparison(account.DirectoryName, account.DirectoryEqual, "no one")
		for _, f := range []account.DirectoryFilter{
			id,
			comparison(account.DirectoryName, account.DirectoryEqual, "aNN@dir.EXAMPLE"),
			comparison(account.DirectoryName, account.DirectoryStartsWith, "AN"),
			comparison(account.DirectoryExternalID, account.DirectoryEqual, "ext-ann"),
			comparison(account.DirectoryExternalID, account.DirectoryPresent, ""),
			comparison(account.DirectoryExternalID, account.DirectoryContains, "t-a"),
			comparison(account.DirectoryEmail, account.DirectoryEqual, "ann@DIR.example"),
			comparison(account.DirectoryEmail, account.DirectoryContains, "NN@"),
			{Terms: []account.DirectoryFilter{id, comparison(account.DirectoryDisplay, account.DirectoryEqual, "ann lee"),
				comparison(account.DirectoryActive, account.DirectoryEqual, "true"),
				comparison(account.DirectoryEmailType, account.DirectoryEqual, "WORK")}},
			{IsAny: true, Terms: []account.DirectoryFilter{no, {Terms: []account.DirectoryFilter{id}}}},
		} {
			q := account.DirectoryQuery{Filter: &f, Limit: 10}
			found, total, err := a.DirectoryUsers.Users(ctx, org, q)
			must(t, err)
			if total != 1 || len(found) != 1 || found[0].ID != ann.ID {
				t.Errorf("%+v: %d, %+v", q, total, found)
			}
			if found, total, err := a.DirectoryUsers.Users(ctx, a.Orgs[1], q); err != nil || total+len(found) > 0 {
				t.Errorf("another org: %+v: %d, %v", q, total, err)
			}
		}
		for _, f := range []account.DirectoryFilter{no,
			comparison(account.DirectoryExternalID, account.DirectoryEqual, "EXT-ann"),
			comparison(account.DirectoryExternalID, account.DirectoryStartsWith, "EXT"),
			comparison(account.DirectoryName, account.DirectoryContains, "%"),
			comparison(account.DirectoryActive, account.DirectoryEqual, "false"),
			{Terms: []account.DirectoryFilter{id, no}},
		} {
			_, total, err := a.DirectoryUsers.Users(ctx, org, account.DirectoryQuery{Filter: &f, Limit: 10})
			must(t, err)
			if total != 0 {
				t.Errorf("%+v finds %d", f, total)
			}
		}
		all, total, err := a.DirectoryUsers.Users(ctx, org, account.DirectoryQuery{Skip: 1, Limit: 1})
		if err != nil || total != 2 || len(all) != 1 || all[0].ID != max(ann.ID, bob.ID) {
			t.Errorf("the second page: %d, %+v, %v", total, all, err)
		}
		_, err = a.DirectoryUsers.User(ctx, a.Orgs[1], ann.ID)
		wantErr(t, err, account.ErrDirectoryUserNotFound)
	})
	t.Run("names are unique", func(t *testing.T) {
		twin := *bob
		twin.UserName = "BOB@dir.example"
		wantErr(t, a.DirectoryUsers.AddUser(ctx, by, &twin), account.ErrDirectoryUserExists)
		twin = *ann
		twin.UserName = "bob@DIR.example"
		wantErr(t, a.DirectoryUsers.SaveUser(ctx, by, &twin), account.ErrDirectoryUserExists)
	})
	group, err := account.NewDirectoryGroup(by, "Engineering", "ext-group", []identity.UserID{ann.ID})
	must(t, err)
	must(t, a.DirectoryGroups.AddGroup(ctx, by, group))
	unsettledText := func(rules string) (names string) {
		t.Helper()
		ids, err := a.DirectoryUsers.Unsettled(ctx, org, rules, 10)
		must(t, err)
		assert.Equal(t, "sorted", slices.IsSorted(ids), true)
		found, err := a.DirectoryUsers.Several(ctx, org, ids)
		must(t, err)
		assert.Equal(t, "number", len(found), len(ids))
		for _, u := range found {
			in := make([]string, len(u.Groups))
			for i, g := range u.Groups {
				in[i] = g.Name
			}
			names += fmt.Sprintf("%s%v ", strings.ToLower(u.UserName[:3]), in)
		}
		must(t, a.DirectoryUsers.Settle(ctx, by, found, rules))
		return names
	}
	t.Run("a group has people of the directory, and says whose roles have to follow", func(t *testing.T) {
		got, err := a.DirectoryGroups.Group(ctx, org, group.ID)
		must(t, err)
		same(t, "group", got, group)
		if got := unsettledText("r1"); got != "ann[Engineering] bob[] " { // bob by no rules so far
			t.Errorf("unsettled: %s", got)
		}
		update := func(change func(g *account.DirectoryGroup) error) error {
			_, err := a.DirectoryGroups.UpdateGroup(ctx, org, group.ID, change)
			return err
		}
		for _, step := range []struct {
			what   string
			people []identity.UserID
			name   string
			want   string
		}{
			{"the same", []identity.UserID{ann.ID}, "Engineering", ""},
			{"bob comes", []identity.UserID{bob.ID, ann.ID}, "Engineering", "bob[Engineering] "},
			{"ann goes", []identity.UserID{bob.ID}, "Engineering", "ann[] "},
			{"another name", []identity.UserID{bob.ID}, "Makers", "bob[Makers] "},
		} {
			must(t, update(func(g *account.DirectoryGroup) error { return g.Change(by, step.name, "", step.people) }))
			if got := unsettledText("r1"); got != step.want {
				t.Errorf("%s: unsettled %q, want %q", step.what, got, step.want)
			}
		}
		if got := unsettledText("r2"); strings.Count(got, "[") != 2 {
			t.Errorf("by other rules: unsettled %q", got)
		}
		team := fixture.NewTeam(t, a.Stores, org)
		assert.Equal(t, "before a workspace has a group: unsettled", unsettledText("r2"), "")
		for _, external := range []string{"", "Makers"} {
			must(t, a.Groups.Add(ctx, team.Admin, func(w *account.Workspace, n int) (*account.Group, error) {
				return w.NewGroup(team.Admin, n, account.GroupDraft{Name: "g" + external, External: external})
			}))
			if got := unsettledText("r2"); strings.Count(got, "[") != 2*min(1, len(external)) {
				t.Errorf("with a group of a workspace that follows %q: unsettled %q", external, got)
			}
		}
		wantErr(t, update(func(g *account.DirectoryGroup) error {
			return g.Change(by, "Makers", "", []identity.UserID{bob.ID, "usr_01jb4rqnx1e5btz2s1v2j9k3mn"})
		}), account.ErrDirectoryUserNotFound)
		named := account.DirectoryFilter{Field: account.DirectoryName, Operator: account.DirectoryEqual,
			Value: "MAKERS"}
		having := account.DirectoryFilter{Field: account.DirectoryMember, Operator: account.DirectoryEqual,
			Value: string(bob.ID)}
		both := account.DirectoryFilter{Terms: []account.DirectoryFilter{named, having}}
		found, total, err := a.DirectoryGroups.Groups(ctx, org, account.DirectoryQuery{Filter: &both, Limit: 10})
		if err != nil || total != 1 || len(found) != 1 || found[0].ID != group.ID || len(found[0].People) > 0 {
			t.Errorf("by name: %d, %+v, %v", total, found, err)
		}
		twin := *group
		twin.ID, twin.Name = "dgr_twin", "makers"
		wantErr(t, a.DirectoryGroups.AddGroup(ctx, by, &twin), account.ErrDirectoryGroupExists)
	})
	t.Run("a change of groups that came after a user was read is still to be settled", func(t *testing.T) {
		read, err := a.DirectoryUsers.Several(ctx, org, []identity.UserID{bob.ID, "usr_absent"})
		must(t, err)
		_, err = a.DirectoryGroups.UpdateGroup(ctx, org, group.ID, func(g *account.DirectoryGroup) error {
			return g.Change(by, "Makers", "", nil)
		})
		must(t, err)
		must(t, a.DirectoryUsers.Settle(ctx, by, read, "r2"))
		assert.Equal(t, "unsettled", unsettledText("r2"), "bob[] ")
	})
	t.Run("a removed user is in no list and no group, and found by name only", func(t *testing.T) {
		_, err := a.DirectoryGroups.UpdateGroup(ctx, org, group.ID, func(g *account.DirectoryGroup) error {
			return g.Change(by, "Makers", "", []identity.UserID{bob.ID})
		})
		must(t, err)
		goneUser := *bob
		goneUser.Remove(by)
		must(t, a.DirectoryUsers.SaveUser(ctx, by, &goneUser))
		_, err = a.DirectoryUsers.User(ctx, org, bob.ID)
		wantErr(t, err, account.ErrDirectoryUserNotFound)
		for org, ids := range map[identity.OrgID][]identity.UserID{org: {bob.ID}, a.Orgs[1]: {ann.ID}} {
			several, err := a.DirectoryUsers.Several(ctx, org, ids)
			must(t, err)
			assert.Equal(t, "found", len(several), 0)
		}
		second, err := a.DirectoryUsers.UserNamed(ctx, org, "BOB@dir.example")
		if err != nil || second.RemovedAt.IsZero() || second.Active {
			t.Errorf("%+v, %v", second, err)
		}
		g, err := a.DirectoryGroups.Group(ctx, org, group.ID)
		if err != nil || slices.Contains(g.People, bob.ID) {
			t.Errorf("%+v, %v", g, err)
		}
	})
	t.Run("a deleted group leaves its people to settle", func(t *testing.T) {
		_, err := a.DirectoryGroups.UpdateGroup(ctx, org, group.ID, func(g *account.DirectoryGroup) error {
			return g.Change(by, "Makers", "", []identity.UserID{ann.ID})
		})
		must(t, err)
		remove := func(org identity.OrgID, err error) error {
			return a.DirectoryGroups.DeleteGroup(ctx, org, group.ID, func(g *account.DirectoryGroup) error {
				assert.Equal(t, "people", len(g.People), 1)
				return err
			})
		}
		wantErr(t, remove(a.Orgs[1], nil), account.ErrDirectoryGroupNotFound)
		wantErr(t, remove(org, account.ErrDirectoryFull), account.ErrDirectoryFull)
		must(t, remove(org, nil))
		assert.Equal(t, "unsettled", unsettledText("r2"), "ann[] ")
		_, err = a.DirectoryGroups.Group(ctx, org, group.ID)
		wantErr(t, err, account.ErrDirectoryGroupNotFound)
	})
}
