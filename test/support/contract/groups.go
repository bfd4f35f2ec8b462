package contract

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// Groups is the suite for ports.Groups.
func Groups(t *testing.T, open Opener) {
	a := open(t)
	t.Run("the groups of a workspace", func(t *testing.T) { groupsKept(t, a) })
	t.Run("the people in a group", func(t *testing.T) { groupPeople(t, a) })
	t.Run("the role of a group", func(t *testing.T) { groupRoles(t, a) })
	t.Run("leaving", func(t *testing.T) { groupLeaving(t, a) })
	t.Run("invitations to groups", func(t *testing.T) { groupInvitations(t, a) })
	t.Run("deleting", func(t *testing.T) { groupDeleted(t, a) })
}

// addGroup stores a group of team's workspace with some people.
func addGroup(t testing.TB, a Adapter, team *fixture.Team, people ...identity.UserID) (group identity.UserID) {
	t.Helper()
	must(t, a.Groups.Add(t.Context(), team.Admin, func(w *account.Workspace, count int) (*account.Group, error) {
		g, err := w.NewGroup(team.Admin, count, account.GroupDraft{Name: id.New("g")})
		if err == nil {
			group = g.ID
		}
		return g, err
	}))
	must(t, editGroup(t, a, team, group, func(w *account.Workspace, g *account.Group) error {
		for _, user := range people {
			if err := w.AddToGroup(team.Admin, g, user); err != nil {
				return err
			}
		}
		return nil
	}, people...))
	return group
}

func editGroup(
	t testing.TB, a Adapter, team *fixture.Team, group identity.UserID,
	change func(*account.Workspace, *account.Group) error, extra ...identity.UserID,
) error {
	t.Helper()
	_, err := a.Groups.Update(t.Context(), team.Admin, group, extra, change)
	return err
}

// peopleIn returns who is in a group, read in pages.
func peopleIn(t *testing.T, a Adapter, ws identity.WorkspaceID, group identity.UserID) (ids []identity.UserID) {
	t.Helper()
	for _, limit := range []int{100, 1} {
		ids = nil
		for _, m := range fixture.Pages(t, limit, func(q page.Query) (account.MemberPage, error) {
			return a.Groups.People(t.Context(), ws, group, q)
		}) {
			ids = append(ids, m.User)
		}
	}
	return ids
}

// isGrouped reports whether an API key and the memberships of a user say that the user is in a group.
func isGrouped(t *testing.T, a Adapter, by identity.Actor, key account.Hash) bool {
	t.Helper()
	p, err := a.Keys.Principal(t.Context(), by.Org, key)
	must(t, err)
	_, memberships, err := a.Users.Get(t.Context(), by.Org, by.User)
	must(t, err)
	for _, m := range memberships {
		if m.Workspace.ID == by.Workspace && m.Grouped != p.Membership.Grouped {
			t.Errorf("grouped: %v by the key, %v by the membership", p.Membership.Grouped, m.Grouped)
		}
	}
	return p.Membership.Grouped
}

func groupsKept(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws := team.Workspace.ID
	add := func(team *fixture.Team, name string, failure error) (*account.Group, int, error) {
		var group *account.Group
		var countedCount int
		err := a.Groups.Add(ctx, team.Admin, func(w *account.Workspace, count int) (g *account.Group, err error) {
			countedCount = count
			d := account.GroupDraft{Name: name, Role: identity.Viewer, External: "ext"}
			if group, err = w.NewGroup(team.Admin, count, d); err == nil {
				err = failure
			}
			return group, err
		})
		return group, countedCount, err
	}
	first, _, err := add(team, "Ärger", nil)
	must(t, err)
	second, count, err := add(team, "Support", nil)
	must(t, err)
	assert.Equal(t, "groups were counted", count, 1)
	t.Run("List returns them, newest first", func(t *testing.T) {
		for _, limit := range []int{100, 1} {
			all := fixture.Pages(t, limit, func(q page.Query) (account.GroupPage, error) {
				return a.Groups.List(ctx, ws, q)
			})
			same(t, "the groups", all, []account.Group{withoutLog(second), withoutLog(first)})
		}
		empty, err := a.Groups.List(ctx, other.Workspace.ID, page.Query{Limit: 10})
		must(t, err)
		same(t, "groups of another workspace", len(empty.Items), 0)
	})
	t.Run("Get returns one, only in its workspace", func(t *testing.T) {
		got, err := a.Groups.Get(ctx, ws, first.ID)
		must(t, err)
		same(t, "the group", *got, withoutLog(first))
		_, err = a.Groups.Get(ctx, other.Workspace.ID, first.ID)
		wantErr(t, err, account.ErrGroupNotFound)
		_, err = a.Groups.Update(ctx, other.Admin, first.ID, nil, nil)
		wantErr(t, err, account.ErrGroupNotFound)
	})
	t.Run("a name is taken without regard to case, only in its workspace", func(t *testing.T) {
		_, _, err := add(team, "ÄRGER", nil)
		wantErr(t, err, account.ErrGroupNameTaken)
		_, _, err = add(other, "Ärger", nil)
		must(t, err)
		wantErr(t, editGroup(t, a, team, second.ID, func(w *account.Workspace, g *account.Group) error {
			return w.ChangeGroup(team.Admin, nil, g, account.GroupChanges{Name: new("ärger")})
		}), account.ErrGroupNameTaken)
	})
	t.Run("nothing is stored after an error", func(t *testing.T) {
		group, _, err := add(team, "Boom", errBoom)
		wantErr(t, err, errBoom)
		_, err = a.Groups.Get(ctx, ws, group.ID)
		wantErr(t, err, account.ErrGroupNotFound)
	})
	t.Run("Update stores what changed, with its events", func(t *testing.T) {
		must(t, editGroup(t, a, team, second.ID, func(w *account.Workspace, g *account.Group) error {
			return w.ChangeGroup(team.Admin, nil, g, account.GroupChanges{Name: new("Help"), External: new("x")})
		}))
		got, err := a.Groups.Get(ctx, ws, second.ID)
		must(t, err)
		if got.Name != "Help" || got.External != "x" || got.Revision != 2 {
			t.Errorf("it is %+v", got)
		}
		same(t, "the events", kinds(eventsOn(t, a.Stores, ws, string(second.ID))), []string{
			"group.updated", "group.created",
		})
	})
}

func withoutLog(g *account.Group) account.Group {
	return account.Group{
		ID: g.ID, Org: g.Org, Workspace: g.Workspace, Name: g.Name, Role: g.Role, External: g.External,
		CreatedBy: g.CreatedBy, Revision: g.Revision, CreatedAt: g.CreatedAt, UpdatedAt: g.UpdatedAt,
	}
}

func groupPeople(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	_, key := fixture.Key(t, a.Stores, team.Member, account.KeyDraft{Name: "k"})
	if isGrouped(t, a, team.Member, key.Hash()) {
		t.Error("a person without groups is grouped")
	}
	group := addGroup(t, a, team, team.Member.User, team.Peer.User)
	second := addGroup(t, a, team, team.Member.User)
	want := slices.Sorted(slices.Values([]identity.UserID{team.Member.User, team.Peer.User}))
	same(t, "the people", peopleIn(t, a, team.Workspace.ID, group), want)
	if !isGrouped(t, a, team.Member, key.Hash()) {
		t.Error("a person in groups is not grouped")
	}
	s := openSession(t, a.Stores, team.Org, team.Member.User, fixture.At, nil)
	p, err := a.Sessions.Person(ctx, team.Org, s.Cookie)
	must(t, err)
	if !p.Memberships[0].Grouped {
		t.Error("a session does not say that its person is grouped")
	}
	t.Run("Update loads them, and counts the groups of who is about to join", func(t *testing.T) {
		must(t, editGroup(t, a, team, second, func(w *account.Workspace, g *account.Group) error {
			same(t, "the people", slices.Collect(maps.Keys(g.People)), []identity.UserID{team.Member.User})
			if w.Members[team.Peer.User].Groups != 1 || w.Members[team.Member.User].Role != identity.Member {
				t.Errorf("the members are %+v", w.Members)
			}
			return nil
		}, team.Peer.User))
	})
	t.Run("nothing is stored after an error", func(t *testing.T) {
		wantErr(t, editGroup(t, a, team, group, func(w *account.Workspace, g *account.Group) error {
			must(t, w.RemoveFromGroup(team.Admin, nil, g, team.Peer.User))
			return errBoom
		}), errBoom)
		same(t, "the people", peopleIn(t, a, team.Workspace.ID, group), want)
	})
	t.Run("another process knows that a person is grouped within a second", func(t *testing.T) {
		_, key := fixture.Key(t, a.Stores, team.Admin, account.KeyDraft{Name: "far"})
		second := a
		second.Stores = a.Second()
		if isGrouped(t, second, team.Admin, key.Hash()) {
			t.Error("a person without groups is grouped")
		}
		addGroup(t, a, team, team.Admin.User)
		proof.EventuallyWithin(t, "a person in a group is grouped", time.Second, func() bool {
			p, err := second.Keys.Principal(ctx, team.Org, key.Hash())
			must(t, err)
			return p.Membership.Grouped
		})
		if !isGrouped(t, second, team.Admin, key.Hash()) {
			t.Error("a person in a group is not grouped")
		}
	})
	t.Run("a person is grouped until they left the last group", func(t *testing.T) {
		for _, one := range []identity.UserID{group, second} {
			if !isGrouped(t, a, team.Member, key.Hash()) {
				t.Error("a person in a group is not grouped")
			}
			must(t, editGroup(t, a, team, one, func(w *account.Workspace, g *account.Group) error {
				return w.RemoveFromGroup(team.Admin, nil, g, team.Member.User)
			}))
		}
		if isGrouped(t, a, team.Member, key.Hash()) {
			t.Error("a person without groups is grouped")
		}
		same(t, "the people", peopleIn(t, a, team.Workspace.ID, group), []identity.UserID{team.Peer.User})
	})
}

func groupRoles(t *testing.T, a Adapter) {
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	group := addGroup(t, a, team, team.Viewer.User)
	give := func(role identity.Role) {
		t.Helper()
		must(t, editGroup(t, a, team, group, func(w *account.Workspace, g *account.Group) error {
			return w.ChangeGroup(team.Admin, nil, g, account.GroupChanges{Role: &role})
		}))
	}
	contains := func(want identity.Role) {
		t.Helper()
		m, err := a.Workspaces.Member(t.Context(), team.Org, team.Workspace.ID, team.Viewer.User)
		must(t, err)
		if m.Role != want || m.ByHand != identity.Viewer {
			t.Errorf("the member is %+v, want %s", m, want)
		}
	}
	give(identity.Admin)
	contains(identity.Admin)
	give(identity.NoRole)
	contains(identity.Viewer)
}

func groupLeaving(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	group := addGroup(t, a, team, team.Member.User, team.Peer.User)
	_, err := a.Workspaces.Update(ctx, team.Admin, team.Workspace.ID, []identity.UserID{team.Member.User},
		func(w *account.Workspace) error { return w.Remove(team.Admin, nil, team.Member.User, false) })
	must(t, err)
	same(t, "the people", peopleIn(t, a, team.Workspace.ID, group), []identity.UserID{team.Peer.User})
	system := identity.System(team.Org, team.Workspace.ID, "test", fixture.At)
	_, err = a.Workspaces.Update(ctx, system, team.Workspace.ID, []identity.UserID{team.Member.User},
		func(w *account.Workspace) error { return w.Admit(system, team.Member.User, identity.Member) })
	must(t, err)
	same(t, "the people", peopleIn(t, a, team.Workspace.ID, group), []identity.UserID{team.Peer.User})
	_, key := fixture.Key(t, a.Stores, team.Member, account.KeyDraft{Name: "k"})
	if isGrouped(t, a, team.Member, key.Hash()) {
		t.Error("who comes back is in the groups of before")
	}
}

func groupDeleted(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	_, key := fixture.Key(t, a.Stores, team.Peer, account.KeyDraft{Name: "k"})
	group := addGroup(t, a, team, team.Peer.User)
	by := team.Peer
	by.Grouped = true
	template := fixture.Template(t, a.Stores, team.Member, prompt.Draft{})
	fixture.Share(t, a.Stores, team.Member, template.ID, prompt.Grant{User: group, Role: access.Editor})
	seen, err := a.Prompts.Get(ctx, by, template.ID)
	must(t, err)
	assert.Equal(t, "by the group they have", seen.Access(by), access.Editor)
	must(t, editGroup(t, a, team, group, func(w *account.Workspace, g *account.Group) error {
		return w.DeleteGroup(team.Admin, nil, g)
	}))
	_, err = a.Groups.Get(ctx, team.Workspace.ID, group)
	wantErr(t, err, account.ErrGroupNotFound)
	if isGrouped(t, a, team.Peer, key.Hash()) {
		t.Error("a person without groups is grouped")
	}
	seen, err = a.Prompts.Get(ctx, by, template.ID)
	must(t, err)
	assert.Equal(t, "by the deleted group they have", seen.Access(by), access.None)
	shares, err := a.PromptLists.Shares(ctx, team.Workspace.ID, template.ID, page.Query{Limit: 10})
	must(t, err)
	same(t, "the shares", len(shares.Items), 0)
}

func groupInvitations(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws := team.Workspace.ID
	one, two := addGroup(t, a, team), addGroup(t, a, team)
	var invitedInvitation account.InvitationID
	invite := func(ids ...identity.UserID) {
		t.Helper()
		must(t, a.Invitations.Invite(ctx, team.Admin, ws, "new@example.com", func(
			w *account.Workspace, member identity.UserID, pending *account.Invitation,
		) (*account.Invitation, error) {
			i, _, err := w.Invite(team.Admin, "new@example.com", identity.Viewer, member, pending)
			must(t, err)
			var groups []*account.Group
			for _, id := range ids {
				groups = append(groups, &account.Group{ID: id})
			}
			invitedInvitation = i.ID
			return i, w.InviteToGroups(team.Admin, i, groups)
		}))
	}
	for _, ids := range [][]identity.UserID{{one, two}, {two}, nil} { // the first is stored, the others renew it
		invite(ids...)
		got, err := a.Invitations.Get(ctx, team.Org, ws, invitedInvitation)
		must(t, err)
		same(t, "the groups", got.Groups, slices.Sorted(slices.Values(ids)))
	}
}
