package contract

import (
	"strconv"
	"testing"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// chatVersions publishes a template three times: when it is created, after a change, and its first version again.
func chatVersions(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws := team.Workspace.ID
	newItem := fixture.Chat(t, a.Stores, team.Member, wholeChat())
	token := mustEmbed(t, a.Stores, team.Member, newItem.ID, wholeEmbed())
	change := func(t *testing.T, do func(*chat.Template) error) *chat.Template {
		t.Helper()
		changedTemplate, err := a.Chats.Update(ctx, team.Member, newItem.ID, do)
		must(t, err)
		return changedTemplate
	}
	template := change(t, func(c *chat.Template) error {
		return c.Change(team.Member, nil, chat.Changes{Greeting: new("Good day")},
			chat.Facts{Registry: fixture.Registry(t)})
	})
	serve := func(t *testing.T, greeting string) {
		t.Helper()
		e, err := byID(ctx, a, team.Org, token.ID)
		must(t, err)
		got, err := a.Chats.Get(ctx, team.Member, newItem.ID)
		must(t, err)
		if e.Template.Greeting != greeting || got.Served().Greeting != greeting || got.Greeting != "Good day" {
			t.Errorf("visitors read %q, runtimes %q", e.Template.Greeting, got.Served().Greeting)
		}
	}
	first := template.Published
	t.Run("visitors get the published version, and not the draft", func(t *testing.T) {
		if first == nil || first.Number != 1 || len(first.Differences(newItem.Content)) > 0 || !template.HasChanges() {
			t.Fatalf("published is %+v", first)
		}
		serve(t, "Hello")
	})
	second := change(t, func(c *chat.Template) error {
		return c.Publish(team.Member, nil, chat.Release{Reason: "nicer"})
	}).Published
	t.Run("a version is read by number and id, with all of its content", func(t *testing.T) {
		serve(t, "Good day")
		for _, ref := range []chat.VersionRef{{Number: 2}, {ID: second.ID}} {
			got, err := a.ChatVersions.Get(ctx, ws, newItem.ID, ref)
			must(t, err)
			same(t, "version", got, second)
		}
		_, err := a.ChatVersions.Get(ctx, "wsp_other", newItem.ID, chat.VersionRef{Number: 2})
		wantErr(t, err, chat.ErrVersionNotFound)
		_, err = a.ChatVersions.Get(ctx, ws, newItem.ID, chat.VersionRef{Number: 3})
		wantErr(t, err, chat.ErrVersionNotFound)
	})
	change(t, func(c *chat.Template) error { return c.Publish(team.Member, nil, chat.Release{Version: first}) })
	t.Run("rolling back serves the earlier version, and the ledger tells it", func(t *testing.T) {
		serve(t, "Hello")
		versions := fixture.Pages(t, 1, func(q page.Query) (chat.VersionPage, error) {
			return a.ChatVersions.List(ctx, ws, newItem.ID, q)
		})
		same(t, "versions", versions, []chat.VersionInfo{second.VersionInfo, first.VersionInfo})
		var ledger []string
		for _, p := range fixture.Pages(t, 1, func(q page.Query) (chat.PublicationPage, error) {
			return a.ChatVersions.Publications(ctx, ws, newItem.ID, q)
		}) {
			ledger = append(ledger, strconv.Itoa(p.Number)+": "+strconv.Itoa(p.FromNumber)+" to "+
				strconv.Itoa(p.ToNumber)+" "+p.Reason)
			if p.By != team.Member.User || p.At.IsZero() || (p.FromID == "") != (p.FromNumber == 0) {
				t.Errorf("publication %+v", p)
			}
		}
		same(t, "ledger", ledger, []string{"3: 2 to 1 ", "2: 1 to 2 nicer", "1: 0 to 1 "})
		if others, err := a.ChatVersions.Publications(ctx, "wsp_other", newItem.ID, page.Query{Limit: 5}); err != nil ||
			len(others.Items) > 0 {
			t.Errorf("another workspace reads %+v, %v", others, err)
		}
	})
	t.Run("a list says which version is published", func(t *testing.T) {
		list, err := a.ChatLists.Visible(ctx, team.Member, chat.Filter{}, page.Query{Limit: 5})
		must(t, err)
		if len(list.Items) != 1 || list.Items[0].PublishedID != first.ID || list.Items[0].PublishedNumber != 1 {
			t.Errorf("listed %+v", list.Items)
		}
	})
	t.Run("a prompt of a published version is in use", func(t *testing.T) { publishedPrompt(t, a) })
}

func publishedPrompt(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	holding := fixture.Template(t, a.Stores, team.Member, prompt.Draft{})
	template := fixture.Chat(t, a.Stores, team.Member, chat.Draft{Status: chat.StatusPublished,
		Content: chat.Content{Name: "c", Prompt: chat.Prompt{Template: holding.ID, Ref: "active"}}})
	_, err := a.Chats.Update(ctx, team.Member, template.ID, func(c *chat.Template) error {
		return c.Change(team.Member, nil, chat.Changes{Prompt: &chat.Prompt{}},
			chat.Facts{Registry: fixture.Registry(t)})
	})
	must(t, err)
	uses := func(refs ...string) []prompt.Use {
		found, err := a.ChatLists.Uses(ctx, team.Workspace.ID, holding.ID, refs, 5)
		must(t, err)
		return found
	}
	if got := uses(); len(got) != 1 || got[0].ID != string(template.ID) {
		t.Errorf("uses %+v", got)
	}
	if got := uses("v1", "active"); len(got) != 1 {
		t.Errorf("uses by reference %+v", got)
	}
	if got := uses("v2"); len(got) != 0 {
		t.Errorf("uses by another reference %+v", got)
	}
	_, err = a.Chats.Update(ctx, team.Member, template.ID, func(c *chat.Template) error {
		return c.Publish(team.Member, nil, chat.Release{})
	})
	must(t, err)
	if got := uses(); len(got) != 0 {
		t.Errorf("uses after it was published without %+v", got)
	}
}
