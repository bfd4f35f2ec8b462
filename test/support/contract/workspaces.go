package contract

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Workspaces is the suite for ports.Workspaces.
func Workspaces(t *testing.T, open Opener) {
	a := open(t)
	t.Run("Add", func(t *testing.T) { workspaceAdded(t, a) })
	t.Run("Find", func(t *testing.T) { workspaceFound(t, a) })
	t.Run("Get", func(t *testing.T) { workspaceRead(t, a) })
	t.Run("the quota of the user who creates them", func(t *testing.T) { workspacesRaceQuota(t, a) })
	t.Run("List", func(t *testing.T) { workspacesListed(t, a) })
	t.Run("Members", func(t *testing.T) { membersListed(t, a) })
	t.Run("Update", func(t *testing.T) { workspaceUpdated(t, a) })
	t.Run("Update of members", func(t *testing.T) { membersUpdated(t, a) })
	t.Run("a member who is removed", func(t *testing.T) { memberRemoved(t, a) })
	t.Run("a workspace that is deleted", func(t *testing.T) { workspaceDeleted(t, a) })
	t.Run("a lock waits for changes, and changes wait for it", func(t *testing.T) { workspaceLock(t, a) })
}

// ownSpace stores another workspace, owned by by.
func ownSpace(t testing.TB, s ports.Stores, by identity.Actor, slug string) *account.Workspace {
	t.Helper()
	w, err := account.NewWorkspace(by, nil, slug, "Räume")
	must(t, err)
	must(t, s.Workspaces.Add(t.Context(), w))
	return w
}

// join makes who a member, through an invitation of by.
func join(t testing.TB, s ports.Stores, by identity.Actor, ws identity.WorkspaceID, person identity.Actor,
	role identity.Role) {
	t.Helper()
	u, _, err := s.Users.Get(t.Context(), person.Org, person.User)
	must(t, err)
	_, token := invite(t, s, by, ws, u.Email, role)
	must(t, accept(t, s, person, token))
}

// changeWorkspace calls Update as by, with by's own membership and those in also.
func changeWorkspace(t testing.TB, s ports.Stores, by identity.Actor, ws identity.WorkspaceID, extra []identity.UserID,
	change func(*account.Workspace) error) error {
	_, err := s.Workspaces.Update(t.Context(), by, ws, extra, change)
	return err
}

// setRole changes a role with changeWorkspace.
func setRole(t testing.TB, s ports.Stores, by identity.Actor, ws identity.WorkspaceID, user identity.UserID,
	target identity.Role) error {
	return changeWorkspace(t, s, by, ws, []identity.UserID{user}, func(w *account.Workspace) error {
		_, err := w.ChangeRole(by, nil, user, target, false)
		return err
	})
}

// removeMember ends a membership with changeWorkspace.
func removeMember(t testing.TB, s ports.Stores, by identity.Actor, ws identity.WorkspaceID,
	user identity.UserID) error {
	return changeWorkspace(t, s, by, ws, []identity.UserID{user},
		func(w *account.Workspace) error { return w.Remove(by, nil, user, false) })
}

// roles returns the role of each member of a workspace.
func roles(t testing.TB, s ports.Stores, org identity.OrgID,
	ws identity.WorkspaceID) map[identity.UserID]identity.Role {
	t.Helper()
	out := map[identity.UserID]identity.Role{}
	for _, m := range fixture.Pages(t, 100,
		func(q page.Query) (account.MemberPage, error) { return s.Workspaces.Members(t.Context(), org, ws, q) }) {
		out[m.User] = m.Role
	}
	return out
}

// atOnce runs f for 0 to n-1 concurrently and returns the errors.
func atOnce(n int, f func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errs
}

// oneWon fails t unless exactly one of errs is nil and the others are want.
func oneWon(t testing.TB, errs []error, want error) {
	t.Helper()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, want) {
			t.Errorf("error = %v, want %v", err, want)
		}
	}
	assert.Equal(t, "got through", won, 1)
}

func workspaceAdded(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[1])
	by := fixture.Later(team.Member, time.Hour)
	t.Run("a workspace is stored with its first member", func(t *testing.T) {
		w := ownSpace(t, a.Stores, by, "added")
		got, err := a.Workspaces.Get(ctx, by, w.ID)
		must(t, err)
		want := w.Members[by.User]
		want.Email, want.Name = "member@"+team.Workspace.Slug+".example", "member"
		w.Members[by.User] = want
		same(t, "workspace", got, w)
		if got.CreatedAt != by.At || got.Owners != 1 {
			t.Errorf("made %v, %d owners", got.CreatedAt, got.Owners)
		}
		same(t, "events", kinds(eventsOn(t, a.Stores, w.ID, string(w.ID))), []string{"workspace.created"})
	})
	t.Run("a workspace with a taken slug is not stored", func(t *testing.T) {
		ownSpace(t, a.Stores, by, "taken")
		second, err := account.NewWorkspace(by, nil, "taken", "")
		must(t, err)
		wantErr(t, a.Workspaces.Add(ctx, second), account.ErrSlugTaken)
		_, err = a.Workspaces.Find(ctx, team.Org, string(second.ID))
		wantErr(t, err, identity.ErrWorkspaceNotFound)
		same(t, "members", len(roles(t, a.Stores, team.Org, second.ID)), 0)
		same(t, "events", kinds(eventsOn(t, a.Stores, second.ID, string(second.ID))), []string{})
	})
	t.Run("another org's slug can be used", func(t *testing.T) { ownSpace(t, a.Stores, other.Owner, "taken") })
	t.Run("a deleted workspace's slug is taken", func(t *testing.T) {
		w := ownSpace(t, a.Stores, by, "was-taken")
		must(t, changeWorkspace(t, a.Stores, by, w.ID, nil,
			func(w *account.Workspace) error { return w.Delete(by, nil) }))
		second, err := account.NewWorkspace(by, nil, "was-taken", "")
		must(t, err)
		wantErr(t, a.Workspaces.Add(ctx, second), account.ErrSlugTaken)
	})
	t.Run("of many concurrent workspaces with one slug one is stored", func(t *testing.T) {
		oneWon(t, atOnce(16, func(int) error {
			w, err := account.NewWorkspace(by, nil, "contended", "")
			if err != nil {
				return err
			}
			return a.Workspaces.Add(ctx, w)
		}), account.ErrSlugTaken)
	})
}

func workspaceFound(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[1])
	for name, tt := range map[string]struct {
		idOrSlug string
		want     error
	}{
		"by id":                           {string(team.Workspace.ID), nil},
		"by slug":                         {team.Workspace.Slug, nil},
		"another org's id is not found":   {string(other.Workspace.ID), identity.ErrWorkspaceNotFound},
		"another org's slug is not found": {other.Workspace.Slug, identity.ErrWorkspaceNotFound},
		"an unknown id is not found":      {"wsp_00000000000000000000000000", identity.ErrWorkspaceNotFound},
		"an unknown slug is not found":    {"never-was", identity.ErrWorkspaceNotFound},
		"an empty name is not found":      {"", identity.ErrWorkspaceNotFound},
		"a part of a slug is not found":   {team.Workspace.Slug[:8] + "%", identity.ErrWorkspaceNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := a.Workspaces.Find(ctx, team.Org, tt.idOrSlug)
			wantErr(t, err, tt.want)
			if tt.want == nil {
				same(t, "workspace", got, &team.Workspace)
			}
		})
	}
	t.Run("a deleted workspace is found", func(t *testing.T) {
		w := ownSpace(t, a.Stores, team.Owner, "found-deleted")
		must(t, changeWorkspace(t, a.Stores, team.Owner, w.ID, nil,
			func(w *account.Workspace) error { return w.Delete(team.Owner, nil) }))
		for _, name := range []string{string(w.ID), w.Slug} {
			got, err := a.Workspaces.Find(ctx, team.Org, name)
			must(t, err)
			if got.ID != w.ID || got.DeletedAt != fixture.At || len(got.Members) != 0 {
				t.Errorf("got %+v", got)
			}
		}
	})
}

func workspaceRead(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[1])
	ws := team.Workspace.ID
	for name, tt := range map[string]struct {
		by   identity.Actor
		role identity.Role
	}{"an owner": {team.Owner, identity.Owner}, "a viewer": {team.Viewer, identity.Viewer},
		"a user who has left": {team.Gone, identity.NoRole},
		"the system":          {identity.System(team.Org, "", "contract", fixture.At), identity.NoRole}} {
		t.Run(name+" gets only their own membership", func(t *testing.T) {
			got, err := a.Workspaces.Get(ctx, tt.by, ws)
			must(t, err)
			if got.ID != ws || got.Slug != team.Workspace.Slug || got.Owners != 1 ||
				got.Members[tt.by.User].Role != tt.role || len(got.Members) > 1 ||
				(tt.role == identity.NoRole && len(got.Members) != 0) {
				t.Fatalf("got %+v", got)
			}
		})
	}
	t.Run("a workspace that the org does not have is not found", func(t *testing.T) {
		for _, id := range []identity.WorkspaceID{other.Workspace.ID, "wsp_00000000000000000000000000", "",
			identity.WorkspaceID(team.Workspace.Slug)} {
			_, err := a.Workspaces.Get(ctx, team.Owner, id)
			wantErr(t, err, identity.ErrWorkspaceNotFound)
			wantErr(t, changeWorkspace(t, a.Stores, team.Owner, id, nil,
				func(*account.Workspace) error { t.Error("change was called"); return nil }),
				identity.ErrWorkspaceNotFound)
		}
	})
}

func workspaceUpdated(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws, by := team.Workspace.ID, fixture.Later(team.Admin, time.Hour)
	rename := func(by identity.Actor, c account.WorkspaceChanges) func(*account.Workspace) error {
		return func(w *account.Workspace) error { return w.Change(by, nil, nil, c) }
	}
	slug := "renamed-" + team.Workspace.Slug
	t.Run("Update stores the changed workspace", func(t *testing.T) {
		current, err := a.Workspaces.Update(ctx, by, ws, nil,
			rename(by, account.WorkspaceChanges{Slug: new(slug), Name: new("Ümbenannt")}))
		must(t, err)
		got, err := a.Workspaces.Get(ctx, by, ws)
		must(t, err)
		same(t, "workspace", got, current)
		if got.Slug != slug || got.Name != "Ümbenannt" || got.Revision != 2 || got.UpdatedAt != by.At ||
			got.CreatedAt != fixture.At {
			t.Fatalf("got %+v", got)
		}
		same(t, "events", kinds(eventsOn(t, a.Stores, ws, string(ws))), []string{"workspace.updated"})
	})
	t.Run("the old slug is free after a change",
		func(t *testing.T) { ownSpace(t, a.Stores, team.Owner, team.Workspace.Slug) })
	t.Run("a change to a taken slug is not stored", func(t *testing.T) {
		wantErr(t, changeWorkspace(t, a.Stores, by, ws, nil,
			rename(by, account.WorkspaceChanges{Slug: new(team.Workspace.Slug), Name: new("lost")})),
			account.ErrSlugTaken)
		got, err := a.Workspaces.Get(ctx, by, ws)
		must(t, err)
		if got.Slug != slug || got.Name != "Ümbenannt" || got.Revision != 2 {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("of two concurrent changes to one slug one succeeds", func(t *testing.T) {
		one, two := ownSpace(t, a.Stores, team.Owner, "race-one"), ownSpace(t, a.Stores, team.Owner, "race-two")
		oneWon(t, atOnce(2, func(i int) error {
			return changeWorkspace(t, a.Stores, team.Owner, []identity.WorkspaceID{one.ID, two.ID}[i], nil,
				rename(team.Owner, account.WorkspaceChanges{Slug: new("race")}))
		}), account.ErrSlugTaken)
	})
	t.Run("nothing is saved if change fails, members included", func(t *testing.T) {
		previous, err := a.Workspaces.Get(ctx, by, ws)
		must(t, err)
		wantErr(t, changeWorkspace(t, a.Stores, by, ws, []identity.UserID{team.Peer.User},
			func(w *account.Workspace) error {
				_, err := w.ChangeRole(by, nil, team.Peer.User, identity.Admin, false)
				return errors.Join(err, w.Change(by, nil, nil, account.WorkspaceChanges{Name: new("lost")}), errBoom)
			}), errBoom)
		current, err := a.Workspaces.Get(ctx, by, ws)
		must(t, err)
		same(t, "workspace", current, previous)
		same(t, "role", roles(t, a.Stores, team.Org, ws)[team.Peer.User], identity.Member)
		same(t, "events", len(eventsOn(t, a.Stores, ws, string(ws))), 1)
	})
	t.Run("concurrent changes are all kept", func(t *testing.T) {
		must(t, changeWorkspace(t, a.Stores, by, ws, nil, rename(by, account.WorkspaceChanges{Name: new("n")})))
		must(t, errors.Join(atOnce(20, func(int) error {
			return changeWorkspace(t, a.Stores, by, ws, nil, func(w *account.Workspace) error {
				return w.Change(by, nil, nil, account.WorkspaceChanges{Name: new(w.Name + "!")})
			})
		})...))
		got, err := a.Workspaces.Get(ctx, by, ws)
		must(t, err)
		if len(got.Name) != 21 || got.Revision != 23 {
			t.Fatalf("name %q, revision %d", got.Name, got.Revision)
		}
	})
}
