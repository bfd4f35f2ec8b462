package contract

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/fixture"
)

// promptMembers removes a member of the workspace during a change of a template that is about them.
func promptMembers(t *testing.T, a Adapter) {
	for name, tt := range map[string]struct {
		shared  bool // with the peer before
		peers   bool // the peer makes the change, and it names no user
		change  func(p *prompt.Template, by, peer identity.Actor) error
		tooLate error // once the peer is gone
	}{
		"a share is made": {false, false, func(p *prompt.Template, by, peer identity.Actor) error {
			_, err := p.Share(by, peer.User, prompt.Grant{User: peer.User, Role: access.Editor})
			return err
		}, prompt.ErrUserNotInWorkspace},
		"a share is changed": {true, false, func(p *prompt.Template, by, peer identity.Actor) error {
			_, err := p.ChangeShare(by, nil, peer.User, prompt.ShareChanges{Role: new(access.Manager)})
			return err
		}, prompt.ErrShareNotFound},
		"the template is handed over": {true, false, func(p *prompt.Template, by, peer identity.Actor) error {
			return p.Change(by, nil, prompt.Changes{Owner: &peer.User})
		}, prompt.ErrUserNotInWorkspace},
		"the template is changed through a share": {true, true, func(p *prompt.Template, _, peer identity.Actor) error {
			return p.Change(peer, nil, prompt.Changes{Description: new("by the peer")})
		}, nil}, // the change may still be first
	} {
		whileTheyLeave(t, a, name, func(t *testing.T) leaving {
			ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
			made := fixture.Template(t, a.Stores, team.Member, prompt.Draft{})
			if tt.shared {
				fixture.Share(t, a.Stores, team.Member, made.ID, prompt.Grant{User: team.Peer.User, Role: access.Editor})
			}
			by, also := team.Member, []identity.UserID{team.Peer.User}
			if tt.peers {
				by, also = team.Peer, nil
			}
			return leaving{
				team: team, tooLate: tt.tooLate,
				change: func(meanwhile func()) error {
					_, err := a.Prompts.Update(ctx, by, made.ID, also, func(p *prompt.Template) error {
						meanwhile()
						return tt.change(p, by, team.Peer)
					})
					return err
				},
				left: func(t *testing.T) {
					t.Helper()
					shares, err := a.PromptLists.Shares(ctx, team.Workspace.ID, made.ID, page.Query{Limit: 10})
					must(t, err)
					for _, s := range shares.Items {
						if s.User == team.Peer.User {
							t.Errorf("a share is left: %+v", s)
						}
					}
				},
			}
		})
	}
}
