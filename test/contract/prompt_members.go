package contract

import (
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/fixture"
)

// promptMembers removes a member of the workspace while a template's change is about them. Whoever
// is faster, no share is left to somebody who is no member: it would be theirs again on their return.
func promptMembers(t *testing.T, a Adapter) {
	const patience = 200 * time.Millisecond // until the slower one stands at the lock
	for name, tt := range map[string]struct {
		shared  bool // with the peer before
		peers   bool // the peer makes the change, and it names nobody
		change  func(p *prompt.Template, by, peer identity.Actor) error
		tooLate error // once the peer is gone
	}{
		"a share is made": {false, false, func(p *prompt.Template, by, peer identity.Actor) error {
			_, err := p.Share(by, peer.User, prompt.Grant{User: peer.User, Access: prompt.Edit})
			return err
		}, prompt.ErrUserNotInWorkspace},
		"a share is changed": {true, false, func(p *prompt.Template, by, peer identity.Actor) error {
			_, err := p.ChangeShare(by, nil, peer.User, prompt.ShareChanges{Access: new(prompt.Manage)})
			return err
		}, prompt.ErrShareNotFound},
		"the template is handed over": {true, false, func(p *prompt.Template, by, peer identity.Actor) error {
			return p.Change(by, nil, prompt.Changes{Owner: &peer.User})
		}, prompt.ErrUserNotInWorkspace},
		"the template is changed through a share": {true, true, func(p *prompt.Template, _, peer identity.Actor) error {
			return p.Change(peer, nil, prompt.Changes{Description: new("by the peer")})
		}, nil}, // it may be the faster one still
	} {
		type stage struct {
			update func(meanwhile func()) error
			remove func(meanwhile func()) error
			left   func(t *testing.T)
		}
		set := func(t *testing.T) stage {
			ctx, team := t.Context(), fixture.NewTeam(t, a.Stores, a.Orgs[0])
			made := fixture.Template(t, a.Stores, team.Member, prompt.Draft{})
			if tt.shared {
				fixture.Share(t, a.Stores, team.Member, made.ID, prompt.Grant{User: team.Peer.User, Access: prompt.Edit})
			}
			by, also := team.Member, []identity.UserID{team.Peer.User}
			if tt.peers {
				by, also = team.Peer, nil
			}
			return stage{
				update: func(meanwhile func()) error {
					_, err := a.Prompts.Update(ctx, by, made.ID, also, func(p *prompt.Template) error {
						meanwhile()
						return tt.change(p, by, team.Peer)
					})
					return err
				},
				remove: func(meanwhile func()) error {
					_, err := a.Workspaces.Update(ctx, team.Owner, team.Workspace.ID, []identity.UserID{team.Peer.User}, func(w *account.Workspace) error {
						meanwhile()
						return w.Remove(team.Owner, nil, team.Peer.User)
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
		}
		// race runs the first one up to its change, then the second one beside it.
		race := func(first, second func(meanwhile func()) error) (errFirst, errSecond error) {
			var beside sync.WaitGroup
			var once sync.Once
			errFirst = first(func() {
				once.Do(func() {
					beside.Go(func() { errSecond = second(func() {}) })
					time.Sleep(patience)
				})
			})
			beside.Wait()
			return errFirst, errSecond
		}
		t.Run("while "+name+" the member is removed", func(t *testing.T) {
			s := set(t)
			changed, removed := race(s.update, s.remove)
			must(t, changed)
			must(t, removed)
			s.left(t)
		})
		t.Run("while the member is removed "+name, func(t *testing.T) {
			s := set(t)
			removed, changed := race(s.remove, s.update)
			must(t, removed)
			if tt.tooLate != nil {
				wantErr(t, changed, tt.tooLate)
			}
			s.left(t)
		})
	}
}
