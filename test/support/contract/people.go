package contract

import (
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// People is the suite for the people of an org as operators see and erase them.
func People(t *testing.T, open Opener) {
	a := open(t)
	t.Run("Search", func(t *testing.T) { peopleSearched(t, a) })
	t.Run("Person", func(t *testing.T) { personSummarised(t, a) })
	t.Run("Overview", func(t *testing.T) { accessOverviewed(t, a) })
	t.Run("Export", func(t *testing.T) { personExported(t, a) })
	t.Run("Erase", func(t *testing.T) { personErased(t, a) })
	t.Run("the last owner", func(t *testing.T) { lastOwnerStays(t, a) })
}

// addPeople stores people of an org with these names, and returns their ids.
func addPeople(t testing.TB, s ports.Stores, org identity.OrgID, names ...string) (ids []identity.UserID) {
	t.Helper()
	for i, name := range names {
		u, err := account.NewUser(identity.System(org, "", "test", fixture.At), "person"+string(rune('a'+i))+
			"@search.example", name, false)
		must(t, err)
		must(t, s.Users.Add(t.Context(), u))
		ids = append(ids, u.ID)
	}
	return ids
}

func peopleSearched(t *testing.T, a Adapter) {
	ctx, org := t.Context(), a.Orgs[0]
	ids := addPeople(t, a.Stores, org, "Ada Lovelace", "Jürgen Lovell", "李 小龙", "100% _under")
	addPeople(t, a.Stores, a.Orgs[1], "Ada Lovelace")
	fixture.NewTeam(t, a.Stores, org)
	find := func(limit int, text string, status account.PersonStatus) (found []identity.UserID) {
		t.Helper()
		for _, p := range fixture.Pages(t, limit, func(q page.Query) (account.PersonPage, error) {
			f := account.PeopleFilter{Words: account.SearchWords(text), Status: status}
			return a.People.Search(ctx, org, f, fixture.At, q)
		}) {
			found = append(found, p.User.ID)
		}
		return found
	}
	newestFirst := slices.Clone(ids)
	slices.Reverse(newestFirst)
	for text, want := range map[string][]identity.UserID{
		"lov": {ids[1], ids[0]}, "LOVE ada": {ids[0]}, "ada jurgen": nil, "jurg": {ids[1]}, "小": {ids[2]},
		"persona@search": {ids[0]}, "search.example": newestFirst, "ovelace": nil, "100": {ids[3]}, "under": {ids[3]},
	} {
		for _, limit := range []int{1, 100} {
			same(t, "found by "+text, find(limit, text, ""), want)
		}
	}
	t.Run("by status", func(t *testing.T) {
		by := identity.System(org, "", "test", fixture.At)
		must(t, a.People.ChangeAccess(ctx, by, ids[1],
			func(a *account.Access) error { return a.Disable(by, "", false) }))
		must(t, a.Erasures.Erase(ctx, by, ids[3],
			func(l *account.Leaver) (*account.Erasure, error) { return l.Erase(by) }))
		same(t, "disabled", find(1, "", account.PersonDisabled), []identity.UserID{ids[1]})
		same(t, "erased", find(1, "", account.PersonErased), []identity.UserID{ids[3]})
		same(t, "active", find(100, "search", account.PersonActive), []identity.UserID{ids[2], ids[0]})
		same(t, "an erased person by name", find(1, "under", ""), []identity.UserID(nil))
	})
	t.Run("by a new name, and no longer by the old one", func(t *testing.T) {
		_, err := a.Users.Update(ctx, org, ids[0], func(u *account.User, m []account.Membership) error {
			name := "Augusta King"
			by := identity.Actor{Org: org, User: u.ID, Ceiling: identity.Owner, At: fixture.At}
			return u.Change(by, nil, m, account.UserChanges{Name: &name})
		})
		must(t, err)
		same(t, "the new name", find(9, "augusta", ""), []identity.UserID{ids[0]})
		same(t, "the old name", find(9, "ada", ""), []identity.UserID(nil))
	})
}

func personSummarised(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	person := team.Admin.User
	instant := fixture.At.Add(time.Hour)
	key := addKey(t, a.Stores, team.Admin, account.KeyDraft{Name: "laptop"})
	fixture.ServiceKey(t, a.Stores, team.Admin, account.KeyDraft{Name: "program", Ceiling: identity.Member})
	endedSession := openSession(t, a.Stores, team.Org, person, instant, nil)
	openSession(t, a.Stores, team.Org, person, instant.Add(time.Minute), nil)
	by := fixture.Later(team.Admin, time.Hour)
	by.Key = ""
	endSession(t, a.Stores, by, endedSession.ID)
	p, err := a.People.Person(ctx, team.Org, person, instant)
	must(t, err)
	u, _, err := a.Users.Get(ctx, team.Org, person)
	must(t, err)
	same(t, "person", *p, account.PersonSummary{
		User: *u, LastSeenAt: instant.Add(time.Minute), Workspaces: 1, Sessions: 1, Keys: 1,
	})
	future := instant.Add(2 * time.Hour)
	must(t, a.Keys.Used(ctx, team.Org, map[identity.KeyID]account.KeyUse{key.ID: {At: future}}))
	p, err = a.People.Person(ctx, team.Org, person, instant.Add(session.Idle+time.Minute))
	must(t, err)
	same(t, "last seen", p.LastSeenAt, future)
	same(t, "sessions that ended by themselves", p.Sessions, 0)
	_, err = a.People.Person(ctx, a.Orgs[1], person, instant)
	wantErr(t, err, account.ErrUserNotFound)
}

func personErased(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	person := team.Admin.User
	key := addKey(t, a.Stores, team.Admin, account.KeyDraft{Name: "laptop"})
	session := openSession(t, a.Stores, team.Org, person, fixture.At, nil)
	p := fixture.Template(t, a.Stores, team.Owner, prompt.Draft{Name: "erasing", Type: prompt.Text})
	fixture.Share(t, a.Stores, team.Owner, p.ID, prompt.Grant{User: person, Role: access.Viewer})
	u, _, err := a.Users.Get(ctx, team.Org, person)
	must(t, err)
	_, err = a.Keys.Principal(ctx, team.Org, key.Hash) // which a cache remembers
	must(t, err)
	by := fixture.Later(identity.System(team.Org, "", "cli", fixture.At), time.Second)
	_, err = a.Erasures.Erasure(ctx, team.Org, person)
	wantErr(t, err, account.ErrErasureNotFound)
	var e *account.Erasure
	must(t, a.Erasures.Erase(ctx, by, person, func(l *account.Leaver) (_ *account.Erasure, err error) {
		same(t, "user", *l.User, *u)
		e, err = l.Erase(by)
		return e, err
	}))
	t.Run("no credential works, and nothing names the person", func(t *testing.T) {
		same(t, "live", live(t, a.Stores, team.Org, key), []bool{false})
		_, err := a.Sessions.Person(ctx, team.Org, session.Cookie)
		wantErr(t, err, identity.ErrUnauthenticated)
		got, memberships, err := a.Users.Get(ctx, team.Org, person)
		must(t, err)
		if got.Name != "" || got.Email != "" || !got.Erased() || len(memberships) > 0 {
			t.Errorf("got %+v in %+v", got, memberships)
		}
		_, _, err = a.Users.FindByEmail(ctx, team.Org, u.Email)
		wantErr(t, err, account.ErrUserNotFound)
		k, err := a.Keys.Get(ctx, team.Workspace.ID, key.ID)
		must(t, err)
		same(t, "name of the key", k.Name, "Erased")
	})
	t.Run("the address is free", func(t *testing.T) {
		next, err := account.NewUser(by, u.Email, "", false)
		must(t, err)
		must(t, a.Users.Add(ctx, next))
	})
	t.Run("the report counts what is gone, and the terms go with its end", func(t *testing.T) {
		got, err := a.Erasures.Erasure(ctx, team.Org, person)
		must(t, err)
		same(t, "erasure", got, e)
		if r := got.Report; r.Memberships != 1 || r.Keys != 1 || r.Sessions != 1 || r.Shares != 1 {
			t.Errorf("report %+v", r)
		}
		must(t, a.Erasures.CompleteErasure(ctx, team.Org, person, by.At))
		must(t, a.Erasures.CompleteErasure(ctx, team.Org, person, by.At.Add(time.Hour)))
		got, err = a.Erasures.Erasure(ctx, team.Org, person)
		must(t, err)
		if len(got.Terms) > 0 || got.EndedAt != by.At || got.Report.Events == 0 {
			t.Errorf("got %+v", got)
		}
		for _, e := range eventsOn(t, a.Stores, team.Workspace.ID, string(person)) {
			if e.Actor == person && e.Request.Address != "" {
				t.Errorf("the trail has a network address: %+v", e)
			}
		}
		_, err = a.Erasures.Erasure(ctx, a.Orgs[1], person)
		wantErr(t, err, account.ErrErasureNotFound)
	})
}

func lastOwnerStays(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := identity.System(team.Org, "", "cli", fixture.At)
	erase := func(l *account.Leaver) (*account.Erasure, error) { return l.Erase(by) }
	wantErr(t, a.Erasures.Erase(ctx, by, team.Owner.User, erase), account.ErrOnlyOwner)
	u, _, err := a.Users.Get(ctx, team.Org, team.Owner.User)
	must(t, err)
	same(t, "erased", u.Erased(), false)
	_, err = a.Workspaces.Update(ctx, team.Owner, team.Workspace.ID, []identity.UserID{team.Admin.User},
		func(w *account.Workspace) error {
			_, err := w.ChangeRole(team.Owner, nil, team.Admin.User, identity.Owner, false)
			return err
		})
	must(t, err)
	must(t, a.Erasures.Erase(ctx, by, team.Owner.User, erase))
}

func personExported(t *testing.T, a Adapter) {
	ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	person := team.Admin.User
	key := addKey(t, a.Stores, team.Admin, account.KeyDraft{Name: "laptop"})
	session := openSession(t, a.Stores, team.Org, person, fixture.At, nil)
	p := fixture.Template(t, a.Stores, team.Admin, prompt.Draft{Name: "mine", Type: prompt.Text})
	found := map[string][]map[string]any{}
	must(t, a.Erasures.Export(ctx, team.Org, person, func(s account.ExportSection) error {
		found[s.Name] = append(found[s.Name], s.Rows...)
		same(t, "truncated", s.Truncated, false)
		return nil
	}))
	for section, id := range map[string]string{
		"account": string(person), "api_keys": string(key.ID), "sessions": string(session.ID),
		"prompt_templates": string(p.ID), "sign_ins": "", "presence": "", "invitations": "",
	} {
		switch rows := found[section]; {
		case id == "" && len(rows) > 0, id != "" && (len(rows) != 1 || rows[0]["id"] != id):
			t.Errorf("%s: %v", section, rows)
		}
	}
	same(t, "role", found["memberships"][0]["role"], any("admin"))
	same(t, "never", found["account"][0]["disabled_at"], any(nil))
	if position := found["sessions"][0]["created_at"]; position != fixture.At.UTC().Format(time.RFC3339) {
		t.Errorf("created at %v", position)
	}
	for _, e := range found["events"] {
		if e["actor_id"] != string(person) && e["subject"] != string(person) {
			t.Errorf("an event of others: %v", e)
		}
	}
	if len(found["events"]) < 3 {
		t.Errorf("events: %v", found["events"])
	}
	wantErr(t, a.Erasures.Export(ctx, team.Org, person, func(account.ExportSection) error { return errBoom }), errBoom)
	emptyCall := func(account.ExportSection) error { t.Error("emit was called"); return nil }
	wantErr(t, a.Erasures.Export(ctx, a.Orgs[1], person, emptyCall), account.ErrUserNotFound)
}
