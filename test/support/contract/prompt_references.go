package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// referring returns a chat of by that refers to a prompt.
func referring(t *testing.T, a Adapter, by identity.Actor, target prompt.ID, ref string) *chat.Template {
	t.Helper()
	by.Role = identity.Member // so that a viewer of the workspace can have one, too
	return fixture.Chat(t, a.Stores, by, chat.Draft{
		Content: chat.Content{Prompt: chat.Prompt{Template: target, Ref: ref}}})
}

// referenced returns the text that a chat's prompt has, and whether the chat stays at it.
func referenced(t *testing.T, a Adapter, instant time.Time, c *chat.Template) (text string, lost bool) {
	t.Helper()
	by := identity.System(a.Orgs[0], c.Workspace, "test", instant)
	_, v, lost, err := a.Prompts.Referenced(t.Context(), by, c.Prompt.Reference(c.ID))
	if must(t, err); v == nil {
		return "", lost
	}
	return v.Content.Text, lost
}

func promptReferences(t *testing.T, a Adapter) {
	t.Run("everyone who may read the prompt has a reference to it", func(t *testing.T) { referenceRights(t, a) })
	t.Run("a reference stays at the last version of its right", func(t *testing.T) { referenceMoves(t, a) })
	t.Run("a draft is only for those who see drafts", func(t *testing.T) { referenceToDraft(t, a) })
	t.Run("includes are references", func(t *testing.T) { referenceOfInclude(t, a) })
}

// referenceRights compares the right of an owner with what access.Resource gives the same user.
func referenceRights(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by, now := team.Member, fixture.At.Add(time.Hour)
	item, rest, disabledActor := team.Gone, fixture.NewTeam(t, a.Stores, a.Orgs[0]), team.Viewer
	item.Role = identity.NoRole
	actors := map[string]identity.Actor{"an owner": team.Owner, "an admin": team.Admin, "the author": by,
		"a member": team.Peer, "a viewer": team.Viewer, "one of another workspace": rest.Owner, "one who left": item}
	for label, share := range map[string]func(*testing.T, prompt.ID, string, identity.UserID){
		"nothing": nil,
		"a share": func(t *testing.T, id prompt.ID, _ string, user identity.UserID) {
			fixture.Share(t, a.Stores, by, id, prompt.Grant{User: user, Role: access.Viewer})
		},
		"a share that ended": func(t *testing.T, id prompt.ID, _ string, user identity.UserID) {
			fixture.Share(t, a.Stores, by, id, prompt.Grant{User: user, Role: access.Editor, ExpiresAt: now})
		},
		"a share that ends later": func(t *testing.T, id prompt.ID, _ string, user identity.UserID) {
			fixture.Share(t, a.Stores, by, id,
				prompt.Grant{User: user, Role: access.Editor, ExpiresAt: now.Add(time.Second)})
		},
		"the share of a group": func(t *testing.T, id prompt.ID, _ string, user identity.UserID) {
			fixture.Share(t, a.Stores, by, id,
				prompt.Grant{User: addGroup(t, a, team, user), Role: access.Viewer})
		},
		"the share of the folder": func(t *testing.T, _ prompt.ID, folder string, user identity.UserID) {
			shareFolder(t, a, team, folder, prompt.Grant{User: user, Role: access.Viewer})
		},
		"the share of the folder that ended": func(t *testing.T, _ prompt.ID, folder string, user identity.UserID) {
			shareFolder(t, a, team, folder, prompt.Grant{User: user, Role: access.Viewer, ExpiresAt: now})
		},
		"the share of a folder of a group": func(t *testing.T, _ prompt.ID, folder string, user identity.UserID) {
			shareFolder(t, a, team, folder, prompt.Grant{User: addGroup(t, a, team, user), Role: access.Viewer})
		},
		"the share of another folder": func(t *testing.T, _ prompt.ID, folder string, user identity.UserID) {
			shareFolder(t, a, team, folder+"-other", prompt.Grant{User: user, Role: access.Viewer})
		},
		"the workspace": nil,
	} {
		t.Run(label, func(t *testing.T) {
			for name, actor := range actors {
				folder := label + " " + name
				d := prompt.Draft{Name: folder + "/prompt"}
				if label == "the workspace" {
					d.Visibility = access.Workspace
				}
				target := fixture.Template(t, a.Stores, by, d)
				fixture.Version(t, a.Stores, by, target.ID, "text", "production")
				inTeam := actor.Role != identity.NoRole && actor.Workspace == team.Workspace.ID
				if share != nil && inTeam && actor.User != by.User {
					share(t, target.ID, folder, actor.User)
				}
				reader := actor
				reader.At, reader.Grouped = now, true
				seen, err := a.Prompts.Get(ctx, reader, target.ID)
				want := err == nil && seen.Access(reader) >= access.Viewer
				owner := actor
				owner.Workspace = team.Workspace.ID
				c := referring(t, a, owner, target.ID, "production")
				if _, lost := referenced(t, a, now, c); lost == want {
					t.Errorf("%s may read the prompt: %v; the reference is lost: %v", name, want, lost)
				}
				reader = team.Owner
				reader.At = now
				got, err := a.Chats.Get(ctx, reader, c.ID)
				if must(t, err); got.PromptLost == want || got.PromptGone {
					t.Errorf("%s: the chat says lost: %v, gone: %v", name, got.PromptLost, got.PromptGone)
				}
				list, err := a.ChatLists.Visible(ctx, reader, chat.Filter{}, page.Query{Limit: 1})
				if must(t, err); list.Items[0].ID != c.ID || list.Items[0].PromptLost == want {
					t.Errorf("%s: the list says lost: %v", name, list.Items[0].PromptLost)
				}
			}
		})
	}
	t.Run("no one who is disabled", func(t *testing.T) {
		target := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "disabled", Visibility: access.Workspace})
		fixture.Version(t, a.Stores, by, target.ID, "text", "production")
		c := referring(t, a, disabledActor, target.ID, "production")
		if _, lost := referenced(t, a, now, c); lost {
			t.Error("it is lost before")
		}
		system := identity.System(team.Org, "", "test", fixture.At)
		must(t, a.People.ChangeAccess(ctx, system, disabledActor.User,
			func(a *account.Access) error { return a.Disable(system, "", false) }))
		if _, lost := referenced(t, a, now, c); !lost {
			t.Error("it is not lost after")
		}
	})
}

// referenceMoves compares what references show before, during and after a time without the right.
func referenceMoves(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by, peer := team.Member, team.Peer
	target := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "moving"})
	release := func(text string) {
		t.Helper()
		v := fixture.Version(t, a.Stores, by, target.ID, text, "production")
		fixture.Activate(t, a.Stores, by, target.ID, prompt.Ref{ID: v.ID})
	}
	release("one")
	release("two")
	share := func(role access.Role) {
		t.Helper()
		change := func(p *prompt.Template, r prompt.Recipient) error {
			if role == access.None {
				return p.Unshare(by, nil, r)
			}
			_, err := p.Share(by, r, prompt.Grant{User: peer.User, Role: role})
			return err
		}
		_, err := a.Prompts.UpdateFor(ctx, by, target.ID, peer.User, change)
		must(t, err)
	}
	share(access.Viewer)
	found := map[string]*chat.Template{}
	for _, ref := range []string{"active", "latest", "previous", "production", "v1"} {
		found[ref] = referring(t, a, peer, target.ID, ref)
	}
	shows := func(occasion string, lost bool, want map[string]string) {
		t.Helper()
		for ref, c := range found {
			text, isLost := referenced(t, a, fixture.At, c)
			if text != want[ref] || isLost != lost {
				t.Errorf("%s, %s is %q, lost: %v; want %q, %v", occasion, ref, text, isLost, want[ref], lost)
			}
		}
	}
	fixture.Version(t, a.Stores, by, target.ID, "a draft")
	shows("at first", false, map[string]string{"active": "two", "latest": "two", "previous": "one",
		"production": "two", "v1": "one"})
	release("three") // which no one reads before the loss
	keptTexts := map[string]string{"active": "three", "latest": "three", "previous": "two", "production": "three",
		"v1": "one"}
	share(access.None)
	shows("after the loss", true, keptTexts)
	release("SECRET")
	release("SECRET, too")
	shows("after later releases", true, keptTexts)
	_, err := a.Prompts.EditVersion(ctx, by, target.ID, prompt.Ref{Label: "production"},
		func(p *prompt.Template, v *prompt.Version, usedLabels prompt.Labels) error {
			return p.ChangeVersion(by, nil, v, prompt.VersionChanges{Labels: &[]string{}}, usedLabels)
		})
	must(t, err)
	shows("after the label was taken away", true, keptTexts)
	t.Run("a change of something else leaves the reference", func(t *testing.T) {
		renamedText := "renamed"
		fixture.ChangeChat(t, a.Stores, peer, found["active"].ID, func(c *chat.Template) error {
			return c.Change(peer, nil, chat.Changes{Name: &renamedText}, chat.Facts{Registry: fixture.Registry(t)})
		})
		shows("after it", true, keptTexts)
	})
	share(access.Viewer)
	delete(found, "production") // which is a label no more
	shows("with the right again", false, map[string]string{"active": "SECRET, too", "latest": "SECRET, too",
		"previous": "SECRET", "v1": "one"})
	release("last")
	share(access.None)
	shows("after the second loss", true, map[string]string{"active": "last", "latest": "last",
		"previous": "SECRET, too", "v1": "one"})
	t.Run("who owns the chat next decides", func(t *testing.T) {
		isLost := func(recipient identity.UserID) bool {
			t.Helper()
			return fixture.ChangeChatFor(t, a.Stores, team.Owner, found["active"].ID, recipient,
				func(c *chat.Template, p chat.Party) error {
					c.OwnerLeft = true // so that the workspace's owner may give it away
					return c.Change(team.Owner, nil, chat.Changes{Owner: &recipient},
						chat.Facts{Registry: fixture.Registry(t), Owner: p})
				}).PromptLost
		}
		if isLost(by.User) {
			t.Error("it is lost to someone who may read the prompt")
		}
		if !isLost(peer.User) {
			t.Error("it is not lost to someone who may not")
		}
	})
	t.Run("a reference that no one ever could read shows nothing", func(t *testing.T) {
		c := *found["active"]
		c.ID = referring(t, a, peer, "ptpl_never", "active").ID
		if text, lost := referenced(t, a, fixture.At, &c); text != "" || !lost {
			t.Errorf("it is %q, lost: %v", text, lost)
		}
	})
	t.Run("another workspace has no such reference", func(t *testing.T) {
		by := identity.System(team.Org, "wsp_other", "test", fixture.At)
		_, _, _, err := a.Prompts.Referenced(ctx, by, found["active"].Prompt.Reference(found["active"].ID))
		wantErr(t, err, prompt.ErrNotFound)
	})
}

func referenceToDraft(t *testing.T, a Adapter) {
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by, peer := team.Member, team.Peer
	target := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "draft"})
	fixture.Version(t, a.Stores, by, target.ID, "draft")
	fixture.Share(t, a.Stores, by, target.ID, prompt.Grant{User: peer.User, Role: access.Editor})
	c := referring(t, a, peer, target.ID, "v1")
	if text, lost := referenced(t, a, fixture.At, c); text != "draft" || lost {
		t.Errorf("an editor has %q, lost: %v", text, lost)
	}
	viewer := access.Viewer
	_, err := a.Prompts.UpdateFor(t.Context(), by, target.ID, peer.User,
		func(p *prompt.Template, r prompt.Recipient) error {
			_, err := p.ChangeShare(by, nil, r, prompt.ShareChanges{Role: &viewer})
			return err
		})
	must(t, err)
	if text, lost := referenced(t, a, fixture.At, c); text != "" || !lost {
		t.Errorf("a viewer has %q, lost: %v", text, lost)
	}
}

func referenceOfInclude(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by, peer := team.Member, team.Peer
	target := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "included", Visibility: access.Workspace})
	fixture.Version(t, a.Stores, by, target.ID, "one", "live")
	holder := fixture.Template(t, a.Stores, peer, prompt.Draft{Name: "including", IncludeMode: prompt.Floating})
	save := func(v *prompt.Version) {
		t.Helper()
		v.Includes = []prompt.Include{{Name: "included", Ref: "live", Template: target.ID}}
		must(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error { return tx.Prompts.SetIncludes(ctx, peer, v) }))
	}
	read := func() (text string, lost bool) {
		t.Helper()
		_, v, lost, err := a.Prompts.Referenced(ctx, identity.System(team.Org, by.Workspace, "test", fixture.At),
			prompt.Reference{Holder: string(holder.ID), Template: target.ID, Ref: "live"})
		if must(t, err); v == nil {
			return "", lost
		}
		return v.Content.Text, lost
	}
	private, draft := access.Private, fixture.Version(t, a.Stores, peer, holder.ID, "{{> included@live}}")
	save(draft)
	hide := func(v access.Visibility) {
		t.Helper()
		_, err := a.Prompts.Update(ctx, by, target.ID, func(p *prompt.Template) error {
			return p.Change(by, nil, prompt.Changes{Visibility: &v}, prompt.Recipient{})
		})
		must(t, err)
	}
	hide(private)
	if text, lost := read(); text != "" || !lost {
		t.Errorf("the include of a draft is %q, lost: %v", text, lost)
	}
	hide(access.Workspace)
	save(fixture.Version(t, a.Stores, peer, holder.ID, "{{> included@live}}", "released"))
	hide(private)
	fixture.Version(t, a.Stores, by, target.ID, "SECRET", "live")
	if text, lost := read(); text != "one" || !lost {
		t.Errorf("the include is %q, lost: %v", text, lost)
	}
	save(draft) // by an editor; what was released stays
	if text, lost := read(); text != "one" || !lost {
		t.Errorf("after a draft was saved, the include is %q, lost: %v", text, lost)
	}
	hide(access.Workspace)
	if text, lost := read(); text != "SECRET" || lost {
		t.Errorf("with the right again, the include is %q, lost: %v", text, lost)
	}
}
