package contract

import (
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// chatForwarding has chats whose turns webhooks get.
func chatForwarding(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	forward := func(by identity.Actor, id chat.ID, to webhook.ID) {
		by.Role = identity.Admin
		fixture.ChangeChat(t, a.Stores, by, id, func(c *chat.Template) error {
			return c.Change(by, nil, chat.Changes{Transcripts: &to},
				chat.Facts{Registry: fixture.Registry(t), WebhookExists: true})
		})
	}
	forwarding := func(by identity.Actor, to webhook.ID) chat.ID {
		c := fixture.Chat(t, a.Stores, by, chat.Draft{})
		forward(by, c.ID, to)
		return c.ID
	}
	first, deleted := forwarding(team.Member, "whk_1"), forwarding(team.Member, "whk_1")
	fixture.ChangeChat(t, a.Stores, team.Member, deleted, func(c *chat.Template) error {
		return c.Delete(team.Member, nil)
	})
	second, former := forwarding(team.Member, "whk_2"), forwarding(team.Member, "whk_1")
	forward(team.Member, former, "")
	forwarding(other.Member, "whk_1")
	fixture.Chat(t, a.Stores, team.Member, chat.Draft{})
	all := []chat.ID{first, deleted}
	slices.Sort(all)
	for id, want := range map[webhook.ID][]chat.ID{"whk_1": all, "whk_2": {second}, "whk_3": nil} {
		found, err := a.ChatLists.Forwarding(ctx, team.Workspace.ID, id)
		must(t, err)
		same(t, "chats of "+string(id), found, want)
	}
	stored, err := a.Chats.Get(ctx, team.Member, second)
	must(t, err)
	same(t, "webhook", stored.Transcripts, webhook.ID("whk_2"))
}
