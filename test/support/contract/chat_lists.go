package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// ChatLists is the suite for ports.ChatLists.
func ChatLists(t *testing.T, open Opener) {
	a := open(t)
	t.Run("Visible", func(t *testing.T) { visibleChats(t, a) })
	t.Run("what is inside", func(t *testing.T) { chatSummaries(t, a) })
	t.Run("Members", func(t *testing.T) { chatMemberLists(t, a) })
	t.Run("Uses", func(t *testing.T) { chatUses(t, a) })
	t.Run("ConnectionUses", func(t *testing.T) { chatConnectionUses(t, a) })
	t.Run("Forwarding", func(t *testing.T) { chatForwarding(t, a) })
}

var chatFilters = []chat.Filter{
	{Query: "ÄRGER"}, {Query: "%"}, {Query: "_"}, {Query: `\`}, {Query: "about 7"}, {Query: "nowhere"},
	{Status: chat.StatusPublished}, {Status: chat.StatusDraft}, {Visibility: access.Private},
	{Visibility: access.Workspace},
	{Query: "är", Status: chat.StatusPublished, Visibility: access.Private},
	{Prompt: "ptpl_1"}, {Prompt: "ptpl_2"}, {Prompt: "ptpl_1", Refs: []string{"v1"}},
	{Prompt: "ptpl_1", Refs: []string{"v1", "active"}}, {Prompt: "ptpl_1", Refs: []string{"v3"}},
}

// admitsChat reports whether a filter matches a template.
func admitsChat(f chat.Filter, t *chat.Template) bool {
	holds := func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(f.Query)) }
	return (f.Query == "" || holds(t.Name) || holds(t.Description)) &&
		(f.Status == "" || f.Status == t.Status) && (f.Visibility == "" || f.Visibility == t.Visibility) &&
		(f.Prompt == "" || f.Prompt == t.Prompt.Template) && (len(f.Refs) == 0 || slices.Contains(f.Refs, t.Prompt.Ref))
}

// visibleChats compares the store's visibility query with Template.Access, over every combination of its inputs.
func visibleChats(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	caller := team.Member
	caller.Grouped = true
	one, two := addGroup(t, a, team, caller.User), addGroup(t, a, team, caller.User)
	members := [][]chat.Member{
		nil,
		{{User: caller.User, Role: access.Viewer}, {User: one, Role: access.Editor}},
		{{User: caller.User, Role: access.Manager, Invited: true}, {User: two, Role: access.Viewer}},
		{{User: two, Role: access.Viewer}, {User: one, Role: access.Editor}},
		{{User: one, Role: access.Viewer}},
		{{User: addGroup(t, a, team, team.Peer.User), Role: access.Manager}},
	}
	for role := access.Viewer; role <= access.Manager; role++ {
		for _, isInvited := range []bool{false, true} {
			members = append(members, []chat.Member{{User: caller.User, Role: role, Invited: isInvited}})
		}
	}
	var all []*chat.Template // the newest last
	must(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
		all = nil
		for _, ws := range []identity.WorkspaceID{team.Workspace.ID, other.Workspace.ID} {
			for _, owner := range []identity.UserID{caller.User, team.Peer.User, team.Gone.User} {
				for _, visibility := range []access.Visibility{access.Private, access.Workspace} {
					for _, member := range members {
						for _, isDeleted := range []bool{false, true} {
							i := len(all)
							maker := identity.Actor{Org: team.Org, User: owner, Workspace: ws, Role: identity.Member,
								Ceiling: identity.Owner, At: fixture.At}
							template, err := chat.New(maker, chat.Draft{
								Content: chat.Content{
									Name: fmt.Sprintf("%s %d", strings.ReplaceAll(names[i%len(names)], "/", "-"),
										i),
									Description: fmt.Sprintf("About %d, Ü", i)},
								Visibility: visibility, Status: []chat.Status{chat.StatusDraft, chat.StatusPublished,
									chat.StatusDisabled}[i/2%3],
							}, chat.Facts{Registry: fixture.Registry(t)})
							if err != nil {
								return err
							}
							template.Prompt = []chat.Prompt{{}, {Template: "ptpl_1", Ref: "v1"},
								{Template: "ptpl_1", Ref: "active"}, {Template: "ptpl_2", Ref: "v1"}, {}}[i%5]
							if err := tx.Chats.Add(ctx, template); err != nil {
								return err
							}
							if _, err := tx.Chats.Update(ctx, maker, template.ID, func(c *chat.Template) error {
								c.ChangedMembers = member
								if isDeleted {
									c.DeletedAt = maker.At
								}
								c.Record(maker, "fixture.made", string(c.ID), nil)
								return nil
							}); err != nil {
								return err
							}
							template.Grants = nil
							for _, m := range member {
								grant := access.Grant{User: m.User, Role: m.Role}
								if m.User == one || m.User == two {
									grant.User, grant.By = caller.User, access.ByGroup
								}
								if !m.Invited {
									template.Grants = append(template.Grants, grant)
								}
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

	check := func(t *testing.T, by identity.Actor, f chat.Filter) (n int) {
		t.Helper()
		var want []string
		for _, c := range all {
			if c.Access(by) >= access.Viewer && c.DeletedAt.IsZero() && admitsChat(f, c) {
				want = append(want, fmt.Sprint(c.Name, " for a ", c.Access(by)))
			}
		}
		for _, limit := range []int{2, 100} {
			var got []string
			for _, c := range fixture.Pages(t, limit,
				func(q page.Query) (chat.Page, error) { return a.ChatLists.Visible(ctx, by, f, q) }) {
				got = append(got, fmt.Sprint(c.Name, " for a ", c.Access(by)))
			}
			same(t, fmt.Sprintf("%s capped at %s, %+v, by %d", by.Role, by.Ceiling, f, limit), got, want)
		}
		return len(want)
	}
	actor := func(owner identity.Actor, role, ceiling identity.Role) identity.Actor {
		owner.Role, owner.Ceiling = role, ceiling
		return owner
	}

	t.Run("the list agrees with Template.Access for every caller", func(t *testing.T) {
		seen := map[int]bool{}
		for role := identity.NoRole; role <= identity.Owner; role++ {
			for ceiling := identity.NoRole; ceiling <= identity.Owner; ceiling++ {
				seen[check(t, actor(caller, role, ceiling), chat.Filter{})] = true
			}
		}
		if len(all) != 24*len(members) || len(seen) != 3 { // nothing, what one may see, and everything
			t.Fatalf("%d templates, of which callers see %v: the test is not what it was meant to be", len(all), seen)
		}
	})
	t.Run("the list agrees for a user who owns nothing and was given nothing", func(t *testing.T) {
		if n := check(t, team.Viewer, chat.Filter{}); n == 0 {
			t.Fatal("nothing was seen")
		}
	})
	t.Run("each filter returns exactly the templates that match it", func(t *testing.T) {
		for _, f := range chatFilters {
			for _, role := range []identity.Role{identity.Member, identity.Admin} {
				check(t, actor(caller, role, identity.Owner), f)
			}
		}
	})
}

func chatSummaries(t *testing.T, a Adapter) {
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	template := fixture.Chat(t, a.Stores, team.Member, wholeChat())
	want, err := a.Chats.Get(t.Context(), team.Member, template.ID)
	must(t, err)
	found, err := a.ChatLists.Visible(t.Context(), team.Member, chat.Filter{}, page.Query{Limit: 2})
	must(t, err)
	require.Equal(t, "templates", len(found.Items), 1)
	same(t, "summary", found.Items[0], want.Summary())
}

func chatMemberLists(t *testing.T, a Adapter) {
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	template := fixture.Chat(t, a.Stores, team.Member, chat.Draft{})
	want := map[identity.UserID]access.Role{team.Member.User: access.Owner, team.Peer.User: access.Editor,
		team.Viewer.User: access.Viewer, team.Admin.User: access.Manager}
	for user, role := range want {
		if role != access.Owner {
			fixture.ChatMember(t, a.Stores, team.Member, template.ID, user, role)
		}
	}

	t.Run("members include the owner and are sorted by user id", func(t *testing.T) {
		for _, limit := range []int{1, 2, 100} {
			var previous identity.UserID
			got := map[identity.UserID]access.Role{}
			for _, m := range fixture.Pages(t, limit, func(q page.Query) (chat.MemberPage, error) {
				return a.ChatLists.Members(t.Context(), team.Workspace.ID, template.ID, q)
			}) {
				if m.User <= previous || m.Email == "" || m.Name == "" || m.Revision != 1 || m.CreatedAt != fixture.At {
					t.Errorf("member %+v after %s", m, previous)
				}
				previous = m.User
				got[m.User] = m.Role
			}
			same(t, "roles", got, want)
		}
	})
	t.Run("each is found by user id", func(t *testing.T) {
		for user, listed := range membersOf(t, a.Stores, team.Workspace.ID, template.ID) {
			got, err := a.ChatLists.Member(t.Context(), team.Workspace.ID, template.ID, user)
			must(t, err)
			same(t, "member", got, listed)
		}
		_, err := a.ChatLists.Member(t.Context(), team.Workspace.ID, template.ID, team.Owner.User)
		require.ErrorIs(t, err, chat.ErrMemberNotFound)
	})
	t.Run("members of another workspace's template are hidden", func(t *testing.T) {
		if got := membersOf(t, a.Stores, other.Workspace.ID, template.ID); len(got) != 0 {
			t.Fatalf("members = %+v", got)
		}
		_, err := a.ChatLists.Member(t.Context(), other.Workspace.ID, template.ID, team.Peer.User)
		require.ErrorIs(t, err, chat.ErrMemberNotFound)
	})
}

func chatUses(t *testing.T, a Adapter) {
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	const used, freed, unused prompt.ID = "ptpl_used", "ptpl_freed", "ptpl_unused"
	user := fixture.Chat(t, a.Stores, team.Member,
		chat.Draft{Content: chat.Content{Name: "User", Prompt: chat.Prompt{Template: used, Ref: "v2"}}})
	deletedTemplate := fixture.Chat(t, a.Stores, team.Member,
		chat.Draft{Content: chat.Content{Prompt: chat.Prompt{Template: freed, Ref: "v2"}}})
	fixture.ChangeChat(t, a.Stores, team.Member, deletedTemplate.ID,
		func(c *chat.Template) error { return c.Delete(team.Member, nil) })
	multiple := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "v2"}

	for name, tt := range map[string]struct {
		ws   identity.WorkspaceID
		p    prompt.ID
		refs []string
		want bool
	}{
		"in any way":                         {team.Workspace.ID, used, nil, true},
		"by the reference that is asked for": {team.Workspace.ID, used, []string{"v2"}, true},
		"by the last of fourteen":            {team.Workspace.ID, used, multiple, true},
		"by another":                         {team.Workspace.ID, used, multiple[:13], false},
		"in another workspace":               {other.Workspace.ID, used, nil, false},
		"by a deleted template":              {team.Workspace.ID, freed, nil, false},
		"by nothing":                         {team.Workspace.ID, unused, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := a.ChatLists.Uses(t.Context(), tt.ws, tt.p, tt.refs, 5)
			must(t, err)
			if len(got) != 0 != tt.want {
				t.Errorf("Uses = %v", got)
			}
		})
	}
	t.Run("each with its owner, by id and up to a limit", func(t *testing.T) {
		name := func(by identity.Actor) string {
			u, _, err := a.Users.Get(t.Context(), by.Org, by.User)
			must(t, err)
			return u.Name
		}
		second := fixture.Chat(t, a.Stores, team.Admin,
			chat.Draft{Content: chat.Content{Name: "Second", Prompt: chat.Prompt{Template: used, Ref: "active"}}})
		for limit, want := range map[int]int{1: 1, 2: 2, 3: 2} {
			got, err := a.ChatLists.Uses(t.Context(), team.Workspace.ID, used, nil, limit)
			must(t, err)
			same(t, "uses", got, []prompt.Use{
				{ID: string(user.ID), Name: "User", Owner: team.Member.User, OwnerName: name(team.Member)},
				{ID: string(second.ID), Name: "Second", Owner: team.Admin.User, OwnerName: name(team.Admin)},
			}[:want])
		}
	})
}
