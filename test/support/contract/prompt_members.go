package contract

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// promptMembers removes a member of the workspace during a change of a template that is about them.
func promptMembers(t *testing.T, a Adapter) {
	for name, tt := range map[string]struct {
		shared  bool // with the peer before
		peers   bool // the peer makes the change, and it names no user
		change  func(p *prompt.Template, by identity.Actor, peer prompt.Recipient) error
		tooLate error // once the peer is gone
	}{
		"a share is made": {false, false, func(p *prompt.Template, by identity.Actor, peer prompt.Recipient) error {
			_, err := p.Share(by, peer, prompt.Grant{User: peer.User, Role: access.Editor})
			return err
		}, prompt.ErrUserNotInWorkspace},
		"a share is changed": {true, false, func(p *prompt.Template, by identity.Actor, peer prompt.Recipient) error {
			_, err := p.ChangeShare(by, nil, peer, prompt.ShareChanges{Role: new(access.Manager)})
			return err
		}, prompt.ErrShareNotFound},
		"the template is handed over": {true, false,
			func(p *prompt.Template, by identity.Actor, peer prompt.Recipient) error {
				return p.Change(by, nil, prompt.Changes{Owner: &peer.User}, peer)
			}, prompt.ErrUserNotInWorkspace},
		"the template is changed through a share": {true, true,
			func(p *prompt.Template, by identity.Actor, _ prompt.Recipient) error {
				return p.Change(by, nil, prompt.Changes{Description: new("by the peer")}, prompt.Recipient{})
			}, nil}, // the change may still be first
	} {
		whileTheyLeave(t, a, name, func(t *testing.T) leaving {
			ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
			template := fixture.Template(t, a.Stores, team.Member, prompt.Draft{})
			if tt.shared {
				fixture.Share(t, a.Stores, team.Member, template.ID,
					prompt.Grant{User: team.Peer.User, Role: access.Editor})
			}
			return leaving{
				team: team, tooLate: tt.tooLate,
				change: func(meanwhile func()) error {
					if tt.peers {
						_, err := a.Prompts.Update(ctx, team.Peer, template.ID, func(p *prompt.Template) error {
							meanwhile()
							return tt.change(p, team.Peer, prompt.Recipient{})
						})
						return err
					}
					_, err := a.Prompts.UpdateFor(ctx, team.Member, template.ID, team.Peer.User,
						func(p *prompt.Template, peer prompt.Recipient) error {
							meanwhile()
							return tt.change(p, team.Member, peer)
						})
					return err
				},
				left: func(t *testing.T) {
					t.Helper()
					shares, err := a.PromptLists.Shares(ctx, team.Workspace.ID, template.ID, page.Query{Limit: 10})
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
