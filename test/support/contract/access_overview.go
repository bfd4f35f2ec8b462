package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// accessOverviewed reads the powers of an admin who has made keys and webhooks, and has shares, some by a group.
func accessOverviewed(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, personal, service, _ := offboarded(t, a)
	admin, slug := team.Admin.User, team.Workspace.Slug
	second := ownSpace(t, a.Stores, team.Admin, "a-"+slug)
	program := team.Admin
	program.User, program.Service = service[1].User, true
	for url, by := range map[string]identity.Actor{"https://own.example": team.Admin, "https://bot.example": program,
		"https://other.example": team.Owner} {
		must(t, a.Webhooks.Add(ctx, by, func(count int, place int64) (*webhook.Endpoint, error) {
			return webhook.New(by, count, place, webhook.Draft{URL: url, Events: []string{"*"}})
		}))
	}
	var group *account.Group
	must(t, a.Groups.Add(ctx, team.Owner, func(w *account.Workspace, count int) (_ *account.Group, err error) {
		group, err = w.NewGroup(team.Owner, count, account.GroupDraft{Name: "Leads", Role: identity.Member})
		return group, err
	}))
	_, err := a.Groups.Update(ctx, team.Owner, group.ID, []identity.UserID{admin},
		func(w *account.Workspace, g *account.Group) error { return w.AddToGroup(team.Owner, g, admin) })
	must(t, err)
	until := fixture.At.Add(time.Hour)
	for name, g := range map[string]prompt.Grant{"own": {User: admin, Role: access.Editor},
		"expiring": {User: admin, Role: access.Viewer, ExpiresAt: until}, "group": {User: group.ID, Role: access.Viewer},
		"deleted": {User: admin, Role: access.Viewer}} {
		template := fixture.Template(t, a.Stores, team.Owner, prompt.Draft{Name: name})
		fixture.Share(t, a.Stores, team.Owner, template.ID, g)
		if name == "deleted" {
			fixture.Delete(t, a.Stores, team.Owner, template.ID)
		}
	}
	shareFolder(t, a, team, "teams/x", prompt.Grant{User: admin, Role: access.Manager})
	overview := func(ws identity.WorkspaceID, now time.Time, limit int) *account.AccessOverview {
		t.Helper()
		o, err := a.People.Overview(ctx, team.Org, admin, ws, now, limit)
		must(t, err)
		return o
	}
	t.Run("it has every workspace, with what the person has and made there", func(t *testing.T) {
		o := overview("", fixture.At, 100)
		same(t, "truncated", o.Truncated, false)
		same(t, "workspaces", []identity.WorkspaceID{o.Workspaces[0].Workspace.ID, o.Workspaces[1].Workspace.ID},
			[]identity.WorkspaceID{second.ID, team.Workspace.ID})
		w := o.Workspaces[1]
		same(t, "role", []any{w.Member.Role, w.Member.ByHand}, []any{identity.Admin, identity.Admin})
		same(t, "sources", w.Sources(), []account.RoleSource{{Kind: account.DirectRole, Role: identity.Admin},
			{Kind: account.GroupRole, Role: identity.Member, Group: group.ID, Name: "Leads"}})
		var keys []identity.KeyID
		for _, k := range w.Keys {
			keys = append(keys, k.ID)
		}
		same(t, "keys", keys, []identity.KeyID{service[2].ID, service[1].ID, service[0].ID, personal.ID})
		var hooks []string
		for _, e := range w.Endpoints {
			hooks = append(hooks, e.Name)
		}
		slices.Sort(hooks)
		same(t, "webhooks", hooks, []string{"https://bot.example", "https://own.example"})
		shares := map[string]account.HeldShare{}
		for _, s := range w.Shares {
			s.ID = ""
			shares[s.Name] = s
		}
		same(t, "shares", shares, map[string]account.HeldShare{
			"own":      {Kind: account.PromptShare, Name: "own", Role: access.Editor},
			"expiring": {Kind: account.PromptShare, Name: "expiring", Role: access.Viewer, ExpiresAt: until},
			"group":    {Kind: account.PromptShare, Name: "group", Role: access.Viewer, Group: group.ID},
			"teams/x":  {Kind: account.PromptFolderShare, Name: "teams/x", Role: access.Manager},
		})
	})
	t.Run("it has one workspace, if that is named, and nothing that has ended", func(t *testing.T) {
		o := overview(team.Workspace.ID, until, 100)
		same(t, "workspaces", len(o.Workspaces), 1)
		same(t, "shares", len(o.Workspaces[0].Shares), 3)
	})
	t.Run("it tells that something is missing", func(t *testing.T) {
		o := overview(team.Workspace.ID, fixture.At, 1)
		same(t, "truncated", o.Truncated, true)
		w := o.Workspaces[0]
		same(t, "items", []int{len(w.Keys), len(w.Endpoints), len(w.Shares), len(w.Groups)}, []int{1, 1, 1, 1})
	})
	t.Run("a person of another org, or of no workspace, has none", func(t *testing.T) {
		_, err := a.People.Overview(ctx, a.Orgs[1], admin, "", fixture.At, 9)
		wantErr(t, err, account.ErrUserNotFound)
		o, err := a.People.Overview(ctx, team.Org, admin, "wsp_other", fixture.At, 9)
		must(t, err)
		same(t, "workspaces", len(o.Workspaces), 0)
	})
}
