package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/test/fixture"
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
		func(a *account.Access) error { return a.Suspend(by, "") }))
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
	loaded := func(what string, retired bool) {
		t.Helper()
		must(t, changeWorkspace(t, a.Stores, team.Owner, team.Workspace.ID, []identity.UserID{program},
			func(w *account.Workspace) error {
				same(t, what+": creators", w.Makers[program], want)
				same(t, what+": retired", w.Retired[program], retired)
				return nil
			}))
	}
	loaded("while its keys work", false)
	must(t, changeWorkspace(t, a.Stores, team.Owner, team.Workspace.ID, []identity.UserID{team.Admin.User},
		func(w *account.Workspace) error { return w.Remove(team.Owner, nil, team.Admin.User, false) }))
	loaded("when its keys have ended", true)
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
	confirmed, err := a.Webhooks.Update(ctx, by, hooks["own"],
		func(e *webhook.Endpoint, _ int64) error { return e.Confirm(by, nil) })
	must(t, err)
	again, err := a.Webhooks.Get(ctx, team.Workspace.ID, hooks["own"])
	must(t, err)
	same(t, "confirmed", []any{again.Owner, again.Ownerless, again.CreatedBy, again.Revision},
		[]any{by.User, false, admin, confirmed.Revision})
}
