package contract

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Chats is the suite for ports.Chats.
func Chats(t *testing.T, open Opener) {
	a := open(t)
	t.Run("Add and Get", func(t *testing.T) { chatReads(t, a) })
	t.Run("Update", func(t *testing.T) { chatUpdates(t, a) })
	t.Run("members", func(t *testing.T) { chatMembers(t, a) })
	t.Run("invited members", func(t *testing.T) { chatInvited(t, a) })
	t.Run("prompts", func(t *testing.T) { chatPrompts(t, a) })
	t.Run("races", func(t *testing.T) { chatRaces(t, a) })
	t.Run("leaving", func(t *testing.T) { chatLeaving(t, a) })
	t.Run("versions", func(t *testing.T) { chatVersions(t, a) })
}

// wholeChat has a value in every field.
func wholeChat() chat.Draft {
	return chat.Draft{
		Content: chat.Content{
			Name: "Ärger 50%", Description: "line one\nline two", AvatarURL: "https://example.com/a.png",
			Instructions: "Be brief & <kind>.\t\"ü\"",
			Agents: []chat.Selected{
				{ID: "assistant", Config: json.RawMessage(`{"n":12345678901234567890,"x":"<&>"}`)}, {ID: "researcher"}},
			Tools:        []chat.Selected{{ID: "search"}, {ID: "tickets", Config: json.RawMessage(`{"queue":"ü"}`)}},
			Capabilities: []string{"uploads", "citations"},
			Workflows:    []chat.Workflow{{ID: "hand-over", AttachedBy: "usr_1", AttachedAt: fixture.At}},
			Model:        &prompt.ModelConfig{Provider: "openai", Temperature: new(0.5)},
			Greeting:     "Hello", Starters: []string{"one", "two"},
			Metadata: json.RawMessage(`{"deep": {"x": [1.0]}}`),
			Reply: chat.Reply{Kind: chat.CompatibleReply, Connection: "con_1", Model: "small",
				Variables: json.RawMessage(`{"shop":"ü & <b>"}`)},
			Theme: chat.Theme{Scheme: "auto", Light: chat.Palette{Primary: "#0b6e4f"}, Radius: new(0),
				Font: "Ü, \"Inter\""},
			Translations: []chat.Translation{{Language: "de", Greeting: "Grüße <&>", Starters: []string{"eins"}},
				{Language: "pt-BR"}},
		},
		Status: chat.StatusPublished, Visibility: access.Workspace,
	}
}

func chatReads(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	template := fixture.Chat(t, a.Stores, team.Member, wholeChat())
	plain := fixture.Chat(t, a.Stores, team.Member, chat.Draft{})
	template.NewVersion, template.Publication = nil, nil // they are for Add

	t.Run("Get returns what Add was given", func(t *testing.T) {
		for _, want := range []*chat.Template{template, plain} {
			got, err := a.Chats.Get(ctx, team.Member, want.ID)
			must(t, err)
			same(t, "template", got, want)
		}
	})
	t.Run("fields that were not given are read as empty", func(t *testing.T) {
		got, err := a.Chats.Get(ctx, team.Member, plain.ID)
		must(t, err)
		if got.Metadata != nil || got.Model != nil || got.Capabilities != nil || got.Starters != nil ||
			got.Workflows != nil || got.Prompt != (chat.Prompt{}) || got.DeletedAt != (time.Time{}) {
			t.Fatalf("template = %+v", got)
		}
	})
	t.Run("Get returns a template without access control, for any user", func(t *testing.T) {
		nobody := identity.Actor{Org: team.Org, Workspace: team.Workspace.ID, User: "usr_nobody"}
		got, err := a.Chats.Get(ctx, nobody, plain.ID)
		must(t, err)
		same(t, "template", got, plain)
	})
	t.Run("another workspace has no such template", func(t *testing.T) {
		_, err := a.Chats.Get(ctx, other.Owner, template.ID)
		wantErr(t, err, chat.ErrNotFound)
		_, err = a.Chats.Update(ctx, other.Owner, template.ID,
			func(*chat.Template) error { t.Error("the change was called"); return nil })
		wantErr(t, err, chat.ErrNotFound)
	})
	t.Run("Add stores the recorded events", func(t *testing.T) {
		same(t, "events", kinds(eventsOn(t, a.Stores, team.Workspace.ID, string(template.ID))),
			[]string{"chat_template.published", "chat_template.created"})
	})
	t.Run("OwnerLeft is set if the owner is no longer a member", func(t *testing.T) {
		rest := fixture.Chat(t, a.Stores, team.Gone, chat.Draft{})
		for id, want := range map[chat.ID]bool{rest.ID: true, template.ID: false} {
			if got, err := a.Chats.Get(ctx, team.Owner, id); err != nil || got.OwnerLeft != want {
				t.Errorf("OwnerLeft = %v, %v; want %v", got.OwnerLeft, err, want)
			}
		}
	})
	t.Run("a deleted template is found", func(t *testing.T) {
		fixture.ChangeChat(t, a.Stores, team.Member, plain.ID,
			func(c *chat.Template) error { return c.Delete(team.Member, nil) })
		if got, err := a.Chats.Get(ctx, team.Member, plain.ID); err != nil || got.DeletedAt != fixture.At {
			t.Fatalf("Get = %+v, %v", got, err)
		}
	})
}

func chatUpdates(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := fixture.Later(team.Member, time.Hour)
	template := fixture.Chat(t, a.Stores, team.Member, chat.Draft{})
	get := func(t *testing.T) *chat.Template {
		got, err := a.Chats.Get(ctx, team.Member, template.ID)
		must(t, err)
		return got
	}

	t.Run("every field can change, and Update returns what is stored", func(t *testing.T) {
		want := wholeChat()
		current := fixture.ChangeChat(t, a.Stores, by, template.ID, func(c *chat.Template) error {
			c.Content, c.Status, c.Visibility = want.Content, want.Status, want.Visibility
			_, _, err := c.Attach(by, "digest", fixture.Registry(t))
			return err
		})
		got := get(t)
		same(t, "template", got, current)
		want.Workflows = current.Workflows
		same(t, "content", got.Content, want.Content)
		if got.Revision != 2 || got.UpdatedAt != by.At || got.Status != want.Status ||
			got.Visibility != want.Visibility || len(got.Workflows) != 2 || got.Workflows[1].AttachedAt != by.At {
			t.Fatalf("template = %+v", got)
		}
	})
	t.Run("a refused change is not stored", func(t *testing.T) {
		previous := get(t)
		_, err := a.Chats.Update(ctx, by, template.ID, func(c *chat.Template) error {
			c.Name = "other"
			c.Record(by, "fixture.made", string(c.ID), nil)
			return errBoom
		})
		wantErr(t, err, errBoom)
		same(t, "template", get(t), previous)
	})
	t.Run("a change without an event is not stored", func(t *testing.T) {
		previous := get(t)
		fixture.ChangeChat(t, a.Stores, by, template.ID, func(c *chat.Template) error { c.Name = "other"; return nil })
		same(t, "template", get(t), previous)
	})
	t.Run("what became of replies is stored without an event, and no revision", func(t *testing.T) {
		previous := get(t)
		run := chat.ReplyRun{Failures: 3, Code: "auth_failed"}
		fixture.ChangeChat(t, a.Stores, by, template.ID, func(c *chat.Template) error { c.Replies = run; return nil })
		current := get(t)
		if current.Replies != run || current.Revision != previous.Revision {
			t.Errorf("stored %+v at revision %d", current.Replies, current.Revision)
		}
		run.FailingSince = by.At
		fixture.ChangeChat(t, a.Stores, by, template.ID, func(c *chat.Template) error { c.Replies = run; return nil })
		list, err := a.ChatLists.Visible(ctx, team.Member, chat.Filter{}, page.Query{Limit: 1})
		must(t, err)
		if list.Items[0].Replies != run {
			t.Errorf("listed %+v", list.Items[0].Replies)
		}
		fixture.ChangeChat(t, a.Stores, by, template.ID,
			func(c *chat.Template) error { c.Replies = chat.ReplyRun{}; return nil })
		same(t, "template", get(t), previous)
	})
	t.Run("a change stores its events", func(t *testing.T) {
		same(t, "events", kinds(eventsOn(t, a.Stores, team.Workspace.ID, string(template.ID))),
			[]string{"chat_workflow.attached", "chat_template.created"})
	})
}

func chatMembers(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	template := fixture.Chat(t, a.Stores, team.Member, chat.Draft{})
	fixture.ChatMember(t, a.Stores, team.Member, template.ID, team.Peer.User, access.Editor)
	fixture.ChatMember(t, a.Stores, team.Member, template.ID, team.Viewer.User, access.Viewer)

	t.Run("a template is loaded with the caller's membership only", func(t *testing.T) {
		for name, get := range map[string]func(by identity.Actor) (*chat.Template, error){
			"Get": func(by identity.Actor) (*chat.Template, error) { return a.Chats.Get(ctx, by, template.ID) },
			"Update": func(by identity.Actor) (*chat.Template, error) {
				return a.Chats.Update(ctx, by, template.ID, func(*chat.Template) error { return nil })
			},
		} {
			got, err := get(team.Peer)
			must(t, err)
			same(t, name+": grants", got.Grants, access.Grants{{User: team.Peer.User, Role: access.Editor}})
			got, err = get(team.Member)
			must(t, err)
			same(t, name+": the owner's grants", got.Grants, access.Grants(nil))
		}
	})
	t.Run("UpdateFor passes what is known of the users, in their order", func(t *testing.T) {
		_, err := a.Chats.UpdateFor(ctx, team.Member, template.ID,
			[]identity.UserID{team.Viewer.User, team.Admin.User, team.Gone.User},
			func(_ *chat.Template, p []chat.Party) error {
				want := chat.Member{
					User: team.Viewer.User, Email: "viewer@" + team.Workspace.Slug + ".example", Name: "viewer",
					Role: access.Viewer, InvitedBy: team.Member.User,
					Revision: 1, CreatedAt: fixture.At, UpdatedAt: fixture.At,
				}
				same(t, "users", p, []chat.Party{
					{User: want.User, InWorkspace: true, Member: &want, Members: 2},
					{User: team.Admin.User, InWorkspace: true, Members: 2}, {User: team.Gone.User, Members: 2},
				})
				return nil
			})
		must(t, err)
	})
	t.Run("a changed role is stored", func(t *testing.T) {
		fixture.ChangeChatFor(t, a.Stores, team.Member, template.ID, team.Peer.User,
			func(c *chat.Template, peer chat.Party) error {
				_, err := c.ChangeMember(fixture.Later(team.Member, time.Minute), nil, peer, access.Manager)
				return err
			})
		got := membersOf(t, a.Stores, team.Workspace.ID, template.ID)[team.Peer.User]
		if got.Role != access.Manager || got.Revision != 2 || got.UpdatedAt != fixture.At.Add(time.Minute) ||
			got.CreatedAt != fixture.At {
			t.Fatalf("member = %+v", got)
		}
	})
	t.Run("a member without a role is removed", func(t *testing.T) {
		fixture.ChangeChatFor(t, a.Stores, team.Member, template.ID, team.Peer.User,
			func(c *chat.Template, peer chat.Party) error {
				_, err := c.Remove(team.Member, nil, peer)
				return err
			})
		if got := membersOf(t, a.Stores, team.Workspace.ID, template.ID); len(got) != 2 {
			t.Fatalf("members = %+v", got)
		}
	})
	t.Run("a membership ends with the membership in the workspace", func(t *testing.T) {
		_, err := a.Workspaces.Update(ctx, team.Owner, team.Workspace.ID, []identity.UserID{team.Viewer.User},
			func(w *account.Workspace) error {
				return w.Remove(team.Owner, nil, team.Viewer.User, false)
			})
		must(t, err)
		if got := membersOf(t, a.Stores, team.Workspace.ID, template.ID); len(got) != 1 ||
			got[team.Member.User].Role != access.Owner {
			t.Fatalf("members = %+v", got)
		}
	})
}

// membersOf lists a template's members.
func membersOf(t testing.TB, s ports.Stores, ws identity.WorkspaceID, id chat.ID) map[identity.UserID]chat.Member {
	t.Helper()
	out := map[identity.UserID]chat.Member{}
	for _, m := range fixture.Pages(t, 2,
		func(q page.Query) (chat.MemberPage, error) { return s.ChatLists.Members(t.Context(), ws, id, q) }) {
		out[m.User] = m
	}
	return out
}

func chatInvited(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	const reserved identity.UserID = "usr_reserved"
	invite := func(team *fixture.Team) *chat.Template {
		template := fixture.Chat(t, a.Stores, team.Admin, chat.Draft{})
		return fixture.ChangeChatFor(t, a.Stores, team.Admin, template.ID, reserved,
			func(c *chat.Template, guest chat.Party) error {
				_, err := c.Invite(team.Admin, guest, chat.Grant{Email: "Guest@Example.com", Role: access.Editor})
				return err
			})
	}
	first, second, deletedTemplate := invite(team), invite(team), invite(team)
	invite(other)
	fixture.Chat(t, a.Stores, team.Admin, chat.Draft{})
	fixture.ChangeChat(t, a.Stores, team.Admin, deletedTemplate.ID,
		func(c *chat.Template) error { return c.Delete(team.Admin, nil) })

	t.Run("an invited member has the invited address and no account", func(t *testing.T) {
		got := membersOf(t, a.Stores, team.Workspace.ID, first.ID)[reserved]
		if got.Email != "Guest@Example.com" || !got.Invited || got.Role != access.Editor || got.Name != "" {
			t.Fatalf("member = %+v", got)
		}
	})
	t.Run("Invited returns the templates of one workspace that an invited member waits for", func(t *testing.T) {
		got, err := a.Chats.Invited(ctx, team.Workspace.ID, reserved)
		must(t, err)
		same(t, "templates", got, []chat.ID{first.ID, second.ID, deletedTemplate.ID})
	})
	t.Run("the user who accepts replaces the invited member", func(t *testing.T) {
		_, err := a.Chats.UpdateFor(ctx, team.Peer, first.ID, []identity.UserID{reserved, team.Peer.User},
			func(c *chat.Template, p []chat.Party) error {
				c.Accept(team.Peer, p[0], p[1])
				return nil
			})
		must(t, err)
		got := membersOf(t, a.Stores, team.Workspace.ID, first.ID)
		if m := got[team.Peer.User]; len(got) != 2 || m.Invited || m.Role != access.Editor ||
			!strings.HasPrefix(m.Email, "peer@") {
			t.Fatalf("members = %+v", got)
		}
		rest, err := a.Chats.Invited(ctx, team.Workspace.ID, reserved)
		must(t, err)
		same(t, "templates", rest, []chat.ID{second.ID, deletedTemplate.ID})
	})
	t.Run("no event holds the invited address", func(t *testing.T) {
		for _, e := range fixture.Events(t, a.Stores, team.Workspace.ID, event.Filter{}, 100) {
			if text, err := json.Marshal(e.Data); err != nil ||
				strings.Contains(strings.ToLower(string(text)), "guest@") {
				t.Errorf("event %s, %v", text, err)
			}
		}
	})
}

func chatPrompts(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := team.Member
	live, goneTemplate := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "live"}),
		fixture.Template(t, a.Stores, by, prompt.Draft{Name: "gone"})
	empty := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "empty"})
	draftedTemplate := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "drafted"})
	fixture.Version(t, a.Stores, by, draftedTemplate.ID, "never released")
	one := fixture.Version(t, a.Stores, by, live.ID, "one", "production")
	fixture.Version(t, a.Stores, by, goneTemplate.ID, "one")
	fixture.Activate(t, a.Stores, by, live.ID, prompt.Ref{Number: 1})
	fixture.Delete(t, a.Stores, by, goneTemplate.ID)
	fixture.Version(t, a.Stores, by, live.ID, "a draft")
	t.Run("latest names the latest frozen version, also for those who see drafts", func(t *testing.T) {
		latest := chat.Prompt{Template: live.ID, Ref: "latest"}.Version()
		_, v, err := a.Prompts.GetVersion(ctx, by, live.ID, latest)
		if must(t, err); v == nil || v.ID != one.ID {
			t.Errorf("it is read as %+v", v)
		}
		must(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			_, info, err := tx.Prompts.Lock(ctx, by, live.ID, latest)
			if err == nil && (info == nil || info.ID != one.ID) {
				t.Errorf("it is locked as %+v", info)
			}
			return err
		}))
		_, v, err = a.Prompts.GetVersion(ctx, by, draftedTemplate.ID, latest)
		if must(t, err); v != nil {
			t.Errorf("a draft is read: %+v", v)
		}
	})

	for _, tt := range []struct {
		prompt chat.Prompt
		gone   bool
	}{
		{chat.Prompt{}, false},
		{chat.Prompt{Template: live.ID, Ref: "active"}, false},
		{chat.Prompt{Template: live.ID, Ref: "latest"}, false},
		{chat.Prompt{Template: live.ID, Ref: "v1"}, false},
		{chat.Prompt{Template: live.ID, Ref: "production"}, false},
		{chat.Prompt{Template: live.ID, Ref: string(one.ID)}, false},
		{chat.Prompt{Template: live.ID, Ref: "v3"}, true},
		{chat.Prompt{Template: draftedTemplate.ID, Ref: "latest"}, true},
		{chat.Prompt{Template: draftedTemplate.ID, Ref: "v1"}, false},
		{chat.Prompt{Template: live.ID, Ref: "staging"}, true},
		{chat.Prompt{Template: live.ID, Ref: "pver_01jb4rqnx1fx2s4k0g0f3wz7ha"}, true},
		{chat.Prompt{Template: empty.ID, Ref: "active"}, true},
		{chat.Prompt{Template: empty.ID, Ref: "latest"}, true},
		{chat.Prompt{Template: goneTemplate.ID, Ref: "latest"}, true},
		{chat.Prompt{Template: "ptpl_never", Ref: "latest"}, true},
	} {
		t.Run("PromptGone reports whether "+tt.prompt.Ref+" of "+string(tt.prompt.Template)+" resolves",
			func(t *testing.T) {
				template := fixture.Chat(t, a.Stores, by, chat.Draft{Content: chat.Content{Prompt: tt.prompt}})
				got, err := a.Chats.Get(ctx, by, template.ID)
				must(t, err)
				if got.Prompt != tt.prompt || got.PromptGone != tt.gone {
					t.Errorf("prompt = %+v, gone: %v", got.Prompt, got.PromptGone)
				}
			})
	}
}
