package contract

import (
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// EventReaders is the suite for event.Filter.Reader: who is no admin reads the events about what they can see.
func EventReaders(t *testing.T, open Opener) {
	a := open(t)
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	common := fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: "common", Visibility: access.Workspace})
	private := fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: "private"})
	template := fixture.Template(t, a.Stores, team.Member, prompt.Draft{Name: "shared"})
	fixture.Share(t, a.Stores, team.Member, template.ID, prompt.Grant{User: team.Peer.User, Role: access.Viewer})
	hiddenChat := fixture.Chat(t, a.Stores, team.Member, chat.Draft{})
	joinedChat := fixture.Chat(t, a.Stores, team.Member, chat.Draft{})
	fixture.ChatMember(t, a.Stores, team.Member, joinedChat.ID, team.Peer.User, access.Viewer)
	connection := fixture.Connection(t, a.Stores, team.Member)
	hook := addWebhook(t, a, team)

	read := func(by identity.Actor) (subjects []string) {
		t.Helper()
		for _, e := range fixture.Events(t, a.Stores, team.Workspace.ID, event.Filter{Reader: event.Reader(by)}, 3) {
			subjects = append(subjects, e.Type+" "+e.Subject)
		}
		return subjects
	}
	create := func(kind, id string) string { return kind + ".created " + id }
	prompts := func(id prompt.ID) string { return create("prompt_template", string(id)) }
	all := []string{prompts(common.ID), prompts(private.ID), prompts(template.ID),
		create("chat_template", string(hiddenChat.ID)), create("chat_template", string(joinedChat.ID)),
		create("connection", string(connection.ID)), create("webhook", string(hook.ID))}
	for name, tt := range map[string]struct {
		by     identity.Actor
		unseen []string
	}{
		"an admin":  {team.Admin, nil},
		"the owner": {team.Member, []string{create("webhook", string(hook.ID))}},
		"one with whom something is shared": {team.Peer, []string{prompts(private.ID),
			create("chat_template", string(hiddenChat.ID)), create("webhook", string(hook.ID))}},
		"a viewer": {team.Viewer, []string{prompts(private.ID), prompts(template.ID),
			create("chat_template", string(hiddenChat.ID)), create("chat_template", string(joinedChat.ID)),
			create("webhook", string(hook.ID))}},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(tt.by)
			for _, item := range all {
				if slices.Contains(got, item) == slices.Contains(tt.unseen, item) {
					t.Errorf("reads %s: %v", item, slices.Contains(got, item))
				}
			}
			mayKnow := tt.by.Role >= identity.Admin || tt.by.User == team.Member.User
			if slices.Contains(got, create("prompt_share", string(template.ID))) != mayKnow {
				t.Errorf("reads with whom another user shares: %v", !mayKnow)
			}
		})
	}
}
