package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// PromptLists is the suite for ports.PromptLists.
func PromptLists(t *testing.T, open Opener) {
	a := open(t)
	t.Run("Visible", func(t *testing.T) { visible(t, a) })
	t.Run("Visible lists the newest first", func(t *testing.T) { visibleOrder(t, a) })
	t.Run("what belongs to one template", func(t *testing.T) { promptChildren(t, a) })
	t.Run("what versions have is found", func(t *testing.T) { promptSearch(t, a) })
}

// Parts of names and tags that a list could handle wrongly: letter case beyond ASCII, and characters with a meaning in
// LIKE, JSON and SQL.
var (
	names = []string{"Ärger/ÖL", "a_b/x", "axb/x", "A%B/50% off", `back\slash/x`, "plain", "it's/x", "Ärger",
		"deep/er/x", "ärgerlich"}
	tags = [][]string{{`say "hi"`}, {"hi"}, {"a", "b"}, {","}, {"a,b", `c\`}, {"50%"}, {"Foo"}, {"foo", "Ä"}, {"_"},
		nil, {`a"b`}}

	filters = []prompt.Filter{
		{Query: "ÄRGER"}, {Query: "är"}, {Query: "öl"}, {Query: "%"}, {Query: "_"}, {Query: `\`}, {Query: "A_B"},
		{Query: "'"}, {Query: "about 7"}, {Query: "Ü"}, {Query: "nowhere"},
		{Tag: "hi"}, {Tag: `say "hi"`}, {Tag: `"`}, {Tag: "b"}, {Tag: `a"b`}, {Tag: ","}, {Tag: "a,b"}, {Tag: "a"},
		{Tag: `c\`}, {Tag: "50%"}, {Tag: "5"}, {Tag: "%"}, {Tag: "_"}, {Tag: "Foo"}, {Tag: "foo"}, {Tag: "ä"},
		{Tag: "Ä"}, {Tag: "[]"},
		{Folder: "Ärger"}, {Folder: "äRGER"}, {Folder: "a_b"}, {Folder: "a%b"}, {Folder: `back\slash`},
		{Folder: "deep"}, {Folder: "deep/er"}, {Folder: "%"}, {Folder: "plain"},
		{Owner: "usr_none"}, {Active: new(false)}, {Active: new(true)}, {Label: "none"}, {Deleted: true},
		{Deleted: true, Query: "x"}, {ByName: true}, {ByName: true, Query: "är"}, {Query: "foo"}, {Query: `say "hi"`},
		{Query: "är", Tag: "foo"}, {Query: "x", Tag: "hi", Folder: "a_b"}, {Query: "x", Folder: "deep"},
	}
)

// admits reports whether a filter matches a template.
func admits(f prompt.Filter, t *prompt.Template) bool {
	holds := func(s, part string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(part)) }
	return (f.Query == "" || holds(t.Name, f.Query) || holds(t.Description, f.Query) ||
		holds(strings.Join(t.Tags, "\n"), f.Query)) &&
		(f.Owner == "" || t.Owner == f.Owner) && (f.Active == nil || *f.Active == (t.Active.Version != "")) &&
		f.Label == "" &&
		(f.Tag == "" || slices.Contains(t.Tags, f.Tag)) &&
		(f.Folder == "" || strings.HasPrefix(strings.ToLower(t.Name), strings.ToLower(f.Folder)+"/"))
}

// visible compares the store's visibility query with Template.Role, over every combination of its inputs.
func visible(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	caller := team.Member
	caller.Grouped = true
	one, two := addGroup(t, a, team, caller.User), addGroup(t, a, team, caller.User)
	shares := [][]prompt.Share{
		nil,
		{{User: caller.User, Role: access.Viewer}, {User: one, Role: access.Editor}},
		{{User: caller.User, Role: access.Editor}, {User: one, Role: access.Viewer}},
		{{User: caller.User, Role: access.Manager, ExpiresAt: fixture.At}, {User: one, Role: access.Viewer}},
		{{User: two, Role: access.Viewer}, {User: one, Role: access.Editor}},
		{{User: two, Role: access.Viewer}, {User: one, Role: access.Editor, ExpiresAt: fixture.At}},
		{{User: addGroup(t, a, team, team.Peer.User), Role: access.Manager}},
	}
	for role := access.Viewer; role <= access.Manager; role++ {
		// the last one has just expired
		for _, deadline := range []time.Time{{}, fixture.At.Add(time.Microsecond), fixture.At} {
			shares = append(shares, []prompt.Share{{User: caller.User, Role: role, ExpiresAt: deadline}})
		}
		shares = append(shares, []prompt.Share{{User: one, Role: role}})
	}
	isCallers := func(g identity.UserID) bool { return g == one || g == two }
	var all []*prompt.Template // the newest last
	must(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
		for _, ws := range []identity.WorkspaceID{team.Workspace.ID, other.Workspace.ID} {
			for _, owner := range []identity.UserID{caller.User, team.Peer.User, team.Gone.User} {
				for _, visibility := range []access.Visibility{access.Private, access.Workspace} {
					for _, share := range shares {
						for _, isDeleted := range []bool{false, true} {
							i := len(all)
							maker := identity.Actor{Org: team.Org, User: owner, Workspace: ws, Role: identity.Member,
								Ceiling: identity.Owner, At: fixture.At.Add(-time.Hour)}
							template, err := prompt.New(maker, prompt.Draft{
								Name: "new", Description: fmt.Sprintf("About %d, Ü", i), Tags: tags[i/2%len(tags)],
								Visibility: visibility,
							})
							if err != nil {
								return err
							}
							// Earlier releases have stored names with a backslash.
							template.Name = fmt.Sprintf("%s %d", names[i%len(names)], i)
							if err := tx.Prompts.Add(ctx, template); err != nil {
								return err
							}
							if _, err := tx.Prompts.Update(ctx, maker, template.ID, func(p *prompt.Template) error {
								p.ChangedShares = share
								if isDeleted {
									p.DeletedAt = maker.At
								}
								p.Record(maker, "fixture.made", string(p.ID), nil)
								return nil
							}); err != nil {
								return err
							}
							template.Grants = nil
							for _, s := range share {
								grant := access.Grant{User: s.User, Role: s.Role, ExpiresAt: s.ExpiresAt}
								if isCallers(s.User) {
									grant.User, grant.By = caller.User, access.ByGroup
								}
								template.Grants = append(template.Grants, grant)
							}
							template.OwnerLeft = owner == team.Gone.User || ws == other.Workspace.ID
							if isDeleted {
								template.DeletedAt = maker.At
							}
							all = append(all, template)
						}
					}
				}
			}
		}
		return nil
	}))
	slices.Reverse(all)

	check := func(t *testing.T, by identity.Actor, f prompt.Filter) (n int) {
		t.Helper()
		var want []string
		sortedTemplates := slices.Clone(all)
		if f.ByName {
			slices.SortFunc(sortedTemplates, func(a, b *prompt.Template) int {
				return strings.Compare(prompt.NameKey(a.Name), prompt.NameKey(b.Name))
			})
		}
		for _, p := range sortedTemplates {
			copiedTemplate, isListed := *p, p.DeletedAt.IsZero()
			if f.Deleted {
				isListed = !isListed && copiedTemplate.Restore(by) == nil
			}
			if p.Access(by) >= access.Viewer && isListed && admits(f, p) {
				want = append(want, fmt.Sprint(p.Name, " for a ", p.Access(by)))
			}
		}
		for _, limit := range []int{2, 100} {
			var got []string
			for _, p := range fixture.Pages(t, limit,
				func(q page.Query) (prompt.Page, error) { return a.PromptLists.Visible(ctx, by, f, q) }) {
				got = append(got, fmt.Sprint(p.Name, " for a ", p.Access(by)))
			}
			same(t, fmt.Sprintf("%s capped at %s, %+v, by %d", by.Role, by.Ceiling, f, limit), got, want)
		}
		return len(want)
	}
	actor := func(role, ceiling identity.Role) identity.Actor {
		by := caller
		by.Role, by.Ceiling = role, ceiling
		return by
	}

	t.Run("the list agrees with Template.Role for every caller", func(t *testing.T) {
		seen := map[int]bool{}
		for role := identity.NoRole; role <= identity.Owner; role++ {
			for ceiling := identity.NoRole; ceiling <= identity.Owner; ceiling++ {
				seen[check(t, actor(role, ceiling), prompt.Filter{})] = true
			}
		}
		if len(all) != 24*len(shares) || len(seen) != 3 { // nothing, what one may see, and everything
			t.Fatalf("%d templates, of which callers see %v: the test is not what it was meant to be", len(all), seen)
		}
	})
	t.Run("the trash agrees with Template.Restore for every caller", func(t *testing.T) {
		for role := identity.NoRole; role <= identity.Owner; role++ {
			for ceiling := identity.NoRole; ceiling <= identity.Owner; ceiling++ {
				check(t, actor(role, ceiling), prompt.Filter{Deleted: true})
			}
		}
		late := actor(identity.Admin, identity.Owner)
		late.At = fixture.At.Add(-time.Hour + access.RestoreWithin)
		check(t, late, prompt.Filter{Deleted: true})
		late.At = late.At.Add(time.Microsecond)
		if n := check(t, late, prompt.Filter{Deleted: true}); n != 0 {
			t.Errorf("%d templates are listed that cannot be restored any more", n)
		}
	})
	t.Run("the outline has what a caller sees, by name", func(t *testing.T) {
		for _, role := range []identity.Role{identity.NoRole, identity.Viewer, identity.Admin} {
			outlineAgrees(t, a, actor(role, identity.Owner))
		}
	})
	t.Run("the list agrees for a user who owns nothing and was given nothing", func(t *testing.T) {
		by := team.Viewer
		if n := check(t, by, prompt.Filter{}); n == 0 {
			t.Fatal("not even what the whole workspace sees")
		}
	})
	for _, f := range filters {
		t.Run(fmt.Sprintf("filter %+v", f), func(t *testing.T) {
			check(t, actor(identity.Viewer, identity.Viewer), f)
			check(t, actor(identity.Member, identity.Owner), f)
			check(t, actor(identity.Admin, identity.Admin), f)
		})
	}
}

func visibleOrder(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	var want []prompt.ID
	for i := range 5 {
		template := fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: fmt.Sprint(9 - i)})
		want = append([]prompt.ID{template.ID}, want...)
	}
	list := func(q page.Query) (prompt.Page, error) {
		return a.PromptLists.Visible(ctx, team.Member, prompt.Filter{}, q)
	}

	t.Run("a page continues after the one before, even if templates were added or deleted", func(t *testing.T) {
		first, err := list(page.Query{Limit: 2})
		must(t, err)
		fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: "came meanwhile"})
		fixture.Delete(t, a.Stores, team.Member, want[1])
		second, err := list(page.Query{Limit: 2, After: first.Next})
		must(t, err)
		got := []prompt.ID{first.Items[0].ID, first.Items[1].ID, second.Items[0].ID, second.Items[1].ID}
		same(t, "ids", got, want[:4])
	})
	t.Run("a page that holds all the rest has no next page", func(t *testing.T) {
		if found, err := list(page.Query{Limit: 5}); err != nil || len(found.Items) != 5 || found.Next != "" {
			t.Fatalf("%d items, next %q, %v", len(found.Items), found.Next, err)
		}
	})
	t.Run("an item is the template that Get returns", func(t *testing.T) {
		fixture.Version(t, a.Stores, team.Member, want[0], "text", "live")
		fixture.Activate(t, a.Stores, team.Member, want[0], prompt.Ref{Number: 1})
		for _, p := range fixture.Pages(t, 100, list) {
			full, err := a.Prompts.Get(ctx, team.Member, p.ID)
			must(t, err)
			same(t, p.Name, &p, full)
		}
	})
}

// promptChildren is for the versions, shares and ledger of a template.
func promptChildren(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by, ws := team.Member, team.Workspace.ID
	template := fixture.Template(t, a.Stores, by, prompt.Draft{Type: prompt.Chat})
	for i := range 11 { // 11 sorts before 2 as a text
		d := prompt.VersionDraft{Content: prompt.Content{
			Messages: []prompt.Message{{Role: "user", Content: fmt.Sprintf("%d {{x}}", i)}}, Tools: []byte(`[{"name":"t"}]`),
			ResponseFormat: []byte(`{"type":"text"}`), Model: &prompt.ModelConfig{Provider: "p"},
		}}
		if i%2 == 0 {
			d.Labels = []string{fmt.Sprint("b", i), fmt.Sprint("a", i)}
		}
		fixture.VersionOf(t, a.Stores, by, template.ID, d)
		fixture.Activate(t, a.Stores, by, template.ID, prompt.Ref{Number: 1 + i/4*4})
	}
	for _, target := range []identity.Actor{team.Viewer, team.Admin, team.Peer} {
		fixture.Share(t, a.Stores, by, template.ID,
			prompt.Grant{User: target.User, Role: access.Viewer, ExpiresAt: fixture.At.Add(time.Second)})
	}
	versions := func(ws identity.WorkspaceID, drafts bool) func(page.Query) (prompt.VersionPage, error) {
		return func(q page.Query) (prompt.VersionPage, error) {
			return a.PromptLists.Versions(ctx, ws, template.ID, drafts, q)
		}
	}
	sharesIn := func(ws identity.WorkspaceID) func(page.Query) (prompt.SharePage, error) {
		return func(q page.Query) (prompt.SharePage, error) { return a.PromptLists.Shares(ctx, ws, template.ID, q) }
	}
	activations := func(ws identity.WorkspaceID) func(page.Query) (page.Of[prompt.Activation], error) {
		return func(q page.Query) (page.Of[prompt.Activation], error) {
			return a.PromptLists.Activations(ctx, ws, template.ID, "", q)
		}
	}

	t.Run("versions are listed highest number first, without their large fields", func(t *testing.T) {
		for _, limit := range []int{2, 100} {
			var numbers []int
			for _, v := range fixture.Pages(t, limit, versions(ws, true)) {
				_, full, err := a.Prompts.GetVersion(ctx, by, template.ID, prompt.Ref{ID: v.ID})
				must(t, err)
				same(t, "version", v, full.Summary())
				numbers = append(numbers, v.Number)
			}
			same(t, "numbers", numbers, []int{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1})
		}
	})
	t.Run("drafts are listed only if requested", func(t *testing.T) {
		for _, limit := range []int{2, 100} {
			var numbers []int
			for _, v := range fixture.Pages(t, limit, versions(ws, false)) {
				numbers = append(numbers, v.Number)
			}
			same(t, "numbers", numbers, []int{11, 9, 7, 5, 3, 1})
		}
	})
	t.Run("a page of large versions ends early, and the next one continues", func(t *testing.T) {
		large := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "large"})
		d := prompt.VersionDraft{VariablesDeclared: true,
			Content: prompt.Content{Text: "x",
				Variables: []prompt.Variable{
					{Name: "a", Description: strings.Repeat("x", prompt.MaxVariablesBytes-100)}}}}
		for range 20 {
			fixture.VersionOf(t, a.Stores, by, large.ID, d)
		}
		var numbers []int
		for q := (page.Query{Limit: 100}); ; {
			found, err := a.PromptLists.Versions(ctx, ws, large.ID, true, q)
			must(t, err)
			if n := len(found.Items); n == 0 || n > 16 || (found.Next != "" && n < 15) {
				t.Fatalf("a page holds %d", n)
			}
			for _, v := range found.Items {
				numbers = append(numbers, v.Number)
			}
			if q.After = found.Next; q.After == "" {
				break
			}
		}
		same(t, "numbers", numbers, []int{20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1})
		if found, err := a.PromptLists.Versions(ctx, ws, large.ID, true, page.Query{Limit: 3}); err != nil ||
			len(found.Items) != 3 || found.Next == "" {
			t.Errorf("a page of three holds %d, %v", len(found.Items), err)
		}
	})
	t.Run("a share is found by its user, only in its own workspace", func(t *testing.T) {
		for _, s := range fixture.Pages(t, 100, sharesIn(ws)) {
			got, err := a.PromptLists.Share(ctx, ws, template.ID, s.User)
			must(t, err)
			same(t, "share", got, s)
		}
		other := fixture.NewTeam(t, a.Stores, a.Orgs[1])
		for _, absent := range []struct {
			ws   identity.WorkspaceID
			user identity.UserID
		}{{ws, by.User}, {ws, ""}, {other.Workspace.ID, team.Viewer.User}} {
			_, err := a.PromptLists.Share(ctx, absent.ws, template.ID, absent.user)
			wantErr(t, err, prompt.ErrShareNotFound)
		}
	})
	t.Run("shares are sorted by user and include expired ones", func(t *testing.T) {
		want := []identity.UserID{team.Admin.User, team.Peer.User, team.Viewer.User}
		slices.Sort(want)
		for _, limit := range []int{1, 2, 100} {
			var users []identity.UserID
			for _, s := range fixture.Pages(t, limit, sharesIn(ws)) {
				if s.Name == "" || !strings.HasPrefix(s.Email, s.Name+"@") {
					t.Errorf("%q <%s> is not the user", s.Name, s.Email)
				}
				s.Name, s.Email = "", ""
				same(t, "share", s, prompt.Share{User: s.User, Role: access.Viewer,
					ExpiresAt: fixture.At.Add(time.Second), GrantedBy: by.User, Revision: 1, CreatedAt: fixture.At,
					UpdatedAt: fixture.At})
				users = append(users, s.User)
			}
			same(t, "users", users, want)
		}
	})
	t.Run("the ledger is listed latest first", func(t *testing.T) {
		full := ledger(t, a.Stores, ws, template.ID)
		if len(full) != 3 || full[2].From != "" || full[1].From != full[2].To || full[0].From != full[1].To {
			t.Fatalf("ledger = %+v", full)
		}
		same(t, "by one", fixture.Pages(t, 1, activations(ws)), full)
	})
	t.Run("lists of another workspace's template are empty", func(t *testing.T) {
		remote := other.Workspace.ID
		n := len(fixture.Pages(t, 100, versions(remote, true))) + len(fixture.Pages(t, 100, sharesIn(remote))) +
			len(fixture.Pages(t, 100, activations(remote)))
		if n != 0 {
			t.Fatalf("found %d things", n)
		}
	})
	t.Run("lists of a template that does not exist are empty", func(t *testing.T) {
		bare := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "bare"})
		if k := keptOf(t, a.Stores, by, bare.ID); len(k.Versions)+len(k.Shares)+len(k.Ledger) != 0 {
			t.Fatalf("kept %+v", k)
		}
	})
}
