package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func creatorLowered(t *testing.T, a Adapter) {
	team, personal, service, others := offboarded(t, a)
	all := append([]*account.Key{personal, others}, service...)
	by := fixture.Later(team.Owner, time.Second)
	var lost account.Loss
	must(t, changeWorkspace(t, a.Stores, by, team.Workspace.ID, []identity.UserID{team.Admin.User},
		func(w *account.Workspace) error {
			_, err := w.ChangeRole(by, nil, team.Admin.User, identity.Member, false)
			lost = w.Lost
			return err
		}))
	// first and third have the ceiling of a member, second that of an admin
	same(t, "after", live(t, a.Stores, team.Org, all...), []bool{true, true, true, false, true})
	same(t, "lost", len(lost.Ended), 1)
	same(t, "told", kinds(eventsOn(t, a.Stores, team.Workspace.ID, string(service[1].ID)))[0], "api_key.revoked")
}

func creatorUngrouped(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, personal, service, others := offboarded(t, a)
	all := append([]*account.Key{personal, others}, service...)
	by := fixture.Later(team.Owner, time.Second)
	admin := team.Admin.User
	role := identity.Admin
	var g *account.Group
	must(t, a.Groups.Add(ctx, by, func(w *account.Workspace, count int) (_ *account.Group, err error) {
		g, err = w.NewGroup(by, count, account.GroupDraft{Name: "Admins", Role: role})
		return g, err
	}))
	_, err := a.Groups.Update(ctx, by, g.ID, []identity.UserID{admin},
		func(w *account.Workspace, g *account.Group) error { return w.AddToGroup(by, g, admin) })
	must(t, err)
	must(t, changeWorkspace(t, a.Stores, by, team.Workspace.ID, []identity.UserID{admin},
		func(w *account.Workspace) error {
			_, err := w.ChangeRole(by, nil, admin, identity.Viewer, false) // the group's role stays
			return err
		}))
	same(t, "in the group", live(t, a.Stores, team.Org, all...), []bool{true, true, true, true, true})
	_, err = a.Groups.Update(ctx, by, g.ID, nil,
		func(w *account.Workspace, g *account.Group) error { return w.DeleteGroup(by, nil, g) })
	must(t, err)
	same(t, "after", live(t, a.Stores, team.Org, all...), []bool{true, true, false, false, false})
}

func creatorSuspended(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, personal, service, others := offboarded(t, a)
	all := append([]*account.Key{personal, others}, service...)
	by := fixture.Later(identity.System(team.Org, "", "scim", fixture.At), time.Second)
	must(t, a.People.ChangeAccess(ctx, by, team.Admin.User,
		func(a *account.Access) error { return a.Suspend(by, "", identity.SuspendServiceKeys) }))
	same(t, "suspended", live(t, a.Stores, team.Org, all...), []bool{false, true, false, false, false})
	k, err := a.Keys.Get(ctx, team.Workspace.ID, service[0].ID)
	must(t, err)
	same(t, "suspended at", k.SuspendedAt, by.At)
	must(t, a.People.ChangeAccess(ctx, by, team.Admin.User,
		func(a *account.Access) error { return a.Enable(by, "") }))
	same(t, "enabled", live(t, a.Stores, team.Org, all...), []bool{true, true, true, true, true})
	same(t, "told", kinds(eventsOn(t, a.Stores, team.Workspace.ID, string(service[2].ID)))[:2],
		[]string{"api_key.resumed", "api_key.suspended"})
}

func creatorsLoaded(t *testing.T, a Adapter) {
	team, _, service, _ := offboarded(t, a)
	program := service[0].User
	want := []identity.UserID{team.Admin.User, program} // which created its second key itself
	slices.Sort(want)
	load := func(name string, isRetired bool) {
		t.Helper()
		must(t, changeWorkspace(t, a.Stores, team.Owner, team.Workspace.ID, []identity.UserID{program},
			func(w *account.Workspace) error {
				same(t, name+": creators", w.Makers[program], want)
				same(t, name+": retired", w.Retired[program], isRetired)
				return nil
			}))
	}
	load("while its keys work", false)
	must(t, changeWorkspace(t, a.Stores, team.Owner, team.Workspace.ID, []identity.UserID{team.Admin.User},
		func(w *account.Workspace) error { return w.Remove(team.Owner, nil, team.Admin.User, false) }))
	load("when its keys have ended", true)
}

func endpointsLoseTheirOwner(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, _, service, _ := offboarded(t, a)
	admin := team.Admin.User
	bearer := team.Admin
	bearer.User, bearer.Service = service[1].User, true
	hooks := map[string]webhook.ID{}
	for name, by := range map[string]identity.Actor{"own": team.Admin, "program's": bearer, "other's": team.Owner} {
		must(t, a.Webhooks.Add(ctx, by, func(count int, place int64) (*webhook.Endpoint, error) {
			e, err := webhook.New(by, count, place,
				webhook.Draft{URL: "https://app.example.com/hook", Events: []string{"*"}})
			hooks[name] = e.ID
			return e, err
		}))
	}
	by := fixture.Later(team.Owner, time.Second)
	var lost account.Loss
	must(t, changeWorkspace(t, a.Stores, by, team.Workspace.ID, []identity.UserID{admin},
		func(w *account.Workspace) error {
			_, err := w.ChangeRole(by, nil, admin, identity.Member, false)
			lost = w.Lost
			return err
		}))
	same(t, "without an owner", len(lost.OwnerlessIDs(account.Webhook)), 2)
	for name, want := range map[string]bool{"own": true, "program's": true, "other's": false} {
		e, err := a.Webhooks.Get(ctx, team.Workspace.ID, hooks[name])
		must(t, err)
		same(t, name, e.Ownerless, want)
		same(t, name+": a change", e.Revision, map[bool]int64{false: 1, true: 2}[want])
	}
	confirmedEndpoint, err := a.Webhooks.Update(ctx, by, hooks["own"],
		func(e *webhook.Endpoint, _ int64) error { return e.Confirm(by, nil) })
	must(t, err)
	second, err := a.Webhooks.Get(ctx, team.Workspace.ID, hooks["own"])
	must(t, err)
	same(t, "confirmed", []any{second.Owner, second.Ownerless, second.CreatedBy, second.Revision},
		[]any{by.User, false, admin, confirmedEndpoint.Revision})
}

// keptKeysHaveAnotherOwner continues after the owner has removed the admin and kept the keys of service: the second was
// created with the admin's personal key, the third with the first.
func keptKeysHaveAnotherOwner(t *testing.T, a Adapter, team *fixture.Team, service []*account.Key) {
	t.Helper()
	ctx, ws, by := t.Context(), team.Workspace.ID, fixture.Later(team.Owner, 2*time.Second)
	for i, want := range []identity.UserID{team.Owner.User, team.Owner.User, ""} {
		k, err := a.Keys.Get(ctx, ws, service[i].ID)
		must(t, err)
		same(t, "kept by", k.KeptBy, want)
		same(t, "told of a kept key", kinds(eventsOn(t, a.Stores, ws, string(k.ID)))[0] == "api_key.kept", want != "")
	}
	load := func(user identity.UserID) (w *account.Workspace) {
		t.Helper()
		wantErr(t, changeWorkspace(t, a.Stores, by, ws, []identity.UserID{user, service[1].User},
			func(loadedWorkspace *account.Workspace) error { w = loadedWorkspace; return errBoom }), errBoom)
		return w
	}
	w := load(team.Admin.User)
	for _, k := range w.Powers[team.Admin.User].Keys {
		if k.Service {
			t.Errorf("the former admin still has %s", k.Name)
		}
	}
	want := []identity.UserID{team.Admin.User, team.Owner.User}
	slices.Sort(want)
	same(t, "creators", w.Makers[service[1].User], want)
	same(t, "keys of the owner", len(load(team.Owner.User).Powers[team.Owner.User].Keys), 4)
	_, err := a.Keys.Update(ctx, by, service[1].MadeBy, func(_ *account.Workspace, _ *account.Key,
		keys []*account.Key) error {
		same(t, "made by the former admin's key", len(keys), 0)
		return nil
	})
	must(t, err)
}

func programsOfOwnersLoaded(t *testing.T, a Adapter) {
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	owner, by := team.Owner, fixture.Later(team.Owner, time.Second)
	owner.Key, by.Key = "", ""
	u, k := fixture.ServiceKey(t, a.Stores, owner, account.KeyDraft{Name: "robot", Ceiling: identity.Owner})
	must(t, changeWorkspace(t, a.Stores, by, team.Workspace.ID, []identity.UserID{team.Member.User, owner.User},
		func(w *account.Workspace) error {
			_, err := w.Transfer(by, nil, team.Member.User, true)
			return err
		}))
	same(t, "works", live(t, a.Stores, team.Org, k), []bool{true})
	must(t, changeWorkspace(t, a.Stores, by, team.Workspace.ID, []identity.UserID{u.ID},
		func(w *account.Workspace) error {
			same(t, "the program's role", w.Members[u.ID].Role, identity.Admin)
			return nil
		}))
}

func groupsOfPrograms(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, _, service, _ := offboarded(t, a)
	program := fixture.Later(team.Admin, time.Second)
	program.User, program.Key, program.Service = service[1].User, service[1].ID, true
	draft := func(name string) func(*account.Workspace, int) (*account.Group, error) {
		return func(w *account.Workspace, count int) (*account.Group, error) {
			return w.NewGroup(program, count, account.GroupDraft{Name: name, Role: identity.Admin, External: name})
		}
	}
	must(t, a.Groups.Add(ctx, program, draft("while the creator is an admin")))
	by := fixture.Later(team.Owner, 2*time.Second)
	must(t, changeWorkspace(t, a.Stores, by, team.Workspace.ID, []identity.UserID{team.Admin.User},
		func(w *account.Workspace) error {
			_, err := w.ChangeRole(by, nil, team.Admin.User, identity.Member, true)
			return err
		}))
	wantErr(t, a.Groups.Add(ctx, program, draft("later")), identity.ErrRoleCeiling)
	var g *account.Group
	must(t, a.Groups.Add(ctx, by, func(w *account.Workspace, count int) (_ *account.Group, err error) {
		g, err = w.NewGroup(by, count, account.GroupDraft{Name: "admins", Role: identity.Admin})
		return g, err
	}))
	external := "staff"
	_, err := a.Groups.Update(ctx, program, g.ID, nil, func(w *account.Workspace, g *account.Group) error {
		return w.ChangeGroup(program, nil, g, account.GroupChanges{External: &external})
	})
	wantErr(t, err, identity.ErrRoleCeiling)
}
