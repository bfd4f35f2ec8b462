package contract

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// chatConnectionUses has chats that reply through connections: in the draft, only in the published version, and no
// longer.
func chatConnectionUses(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	replying := func(by identity.Actor, id connection.ID, d chat.Draft) *chat.Template {
		d.Reply = chat.Reply{Kind: chat.HTTPReply, Connection: id, Variables: []byte(`{"connection_id":"con_other"}`)}
		return fixture.Chat(t, a.Stores, by, d)
	}
	change := func(c *chat.Template, do func(*chat.Template) error) {
		fixture.ChangeChat(t, a.Stores, team.Member, c.ID, do)
	}
	stop := func(c *chat.Template) error {
		return c.Change(team.Member, nil, chat.Changes{Reply: &chat.Reply{}}, chat.Facts{Registry: fixture.Registry(t)})
	}
	draft := replying(team.Member, "con_1", chat.Draft{Content: chat.Content{Name: "draft"}})
	published := replying(team.Member, "con_1", chat.Draft{Content: chat.Content{Name: "published"},
		Status: chat.StatusPublished, Visibility: access.Workspace})
	change(published, stop)
	former := replying(team.Member, "con_1", chat.Draft{Status: chat.StatusPublished})
	change(former, stop)
	change(former, func(c *chat.Template) error { return c.Publish(team.Member, nil, chat.Release{}) })
	deleted := replying(team.Member, "con_1", chat.Draft{})
	change(deleted, func(c *chat.Template) error { return c.Delete(team.Member, nil) })
	second := replying(team.Member, "con_2", chat.Draft{Content: chat.Content{Name: "second"}})
	replying(other.Member, "con_1", chat.Draft{})
	fixture.Chat(t, a.Stores, team.Member, chat.Draft{})
	first := []chat.ConnectionUse{{Connection: "con_1", ID: published.ID, Name: "published"},
		{Connection: "con_1", ID: draft.ID, Name: "draft"}}
	for name, tt := range map[string]struct {
		by   identity.Actor
		id   connection.ID
		want []chat.ConnectionUse
	}{
		"uses of one connection are found": {team.Member, "con_1", first},
		"uses of any connection are found": {team.Member, "",
			append([]chat.ConnectionUse{{Connection: "con_2", ID: second.ID, Name: "second"}}, first...)},
		"a colleague finds those that they may read": {team.Peer, "con_1", first[:1]},
		"variables name no connection":               {team.Member, "con_other", []chat.ConnectionUse{}},
		"a caller without a role finds none": {
			identity.Actor{Org: team.Org, Workspace: team.Workspace.ID, User: "usr_nobody"}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := a.ChatLists.ConnectionUses(ctx, tt.by, tt.id)
			must(t, err)
			same(t, "chats", found, tt.want)
		})
	}
}
