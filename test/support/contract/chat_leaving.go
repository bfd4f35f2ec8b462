package contract

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// chatLeaving removes a member of the workspace during a change of a template that is about them.
func chatLeaving(t *testing.T, a Adapter) {
	for name, tt := range map[string]struct {
		member  bool // the peer is already a member of the template
		change  func(c *chat.Template, by identity.Actor, peer chat.Party) error
		tooLate error
	}{
		"a member is added": {false, func(c *chat.Template, by identity.Actor, peer chat.Party) error {
			_, err := c.Add(by, peer, chat.Grant{User: peer.User, Role: access.Editor})
			return err
		}, chat.ErrUserNotInWorkspace},
		"a role is changed": {true, func(c *chat.Template, by identity.Actor, peer chat.Party) error {
			_, err := c.ChangeMember(by, nil, peer, access.Manager)
			return err
		}, chat.ErrMemberNotFound},
		"the chat is handed over": {true, func(c *chat.Template, by identity.Actor, peer chat.Party) error {
			return c.Change(by, nil, chat.Changes{Owner: &peer.User},
				chat.Facts{Registry: fixture.Registry(t), Owner: peer})
		}, chat.ErrUserNotInWorkspace},
	} {
		whileTheyLeave(t, a, name, func(t *testing.T) leaving {
			team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
			item, peer := fixture.Chat(t, a.Stores, team.Member, chat.Draft{}), team.Peer.User
			if tt.member {
				fixture.ChatMember(t, a.Stores, team.Member, item.ID, peer, access.Editor)
			}
			return leaving{
				team: team, tooLate: tt.tooLate,
				change: func(meanwhile func()) error {
					_, err := a.Chats.UpdateFor(t.Context(), team.Member, item.ID, []identity.UserID{peer},
						func(c *chat.Template, p []chat.Party) error {
							meanwhile()
							return tt.change(c, team.Member, p[0])
						})
					return err
				},
				left: func(t *testing.T) {
					t.Helper()
					if m, ok := membersOf(t, a.Stores, team.Workspace.ID, item.ID)[peer]; ok && m.Role != access.Owner {
						t.Errorf("a membership is left: %+v", m)
					}
				},
			}
		})
	}
}
