package contract

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// leaving is a change about a member of a workspace, the team's peer, who is being removed.
type leaving struct {
	team    *fixture.Team
	change  func(meanwhile func()) error // calls meanwhile while it holds what it changes
	tooLate error                        // the error of change once the peer is gone
	left    func(t *testing.T)           // fails if anything of the change is left to the peer
}

// whileTheyLeave runs the change that set returns concurrently with the removal of the member. Whichever is first,
// nothing may be left to a user who is no member, because they would have it again when they return.
func whileTheyLeave(t *testing.T, a Adapter, name string, set func(t *testing.T) leaving) {
	remove := func(t *testing.T, l leaving) func(meanwhile func()) error {
		return func(meanwhile func()) error {
			peer := l.team.Peer.User
			_, err := a.Workspaces.Update(t.Context(), l.team.Owner, l.team.Workspace.ID, []identity.UserID{peer},
				func(w *account.Workspace) error {
					meanwhile()
					return w.Remove(l.team.Owner, nil, peer, false)
				})
			return err
		}
	}
	// race runs the first one up to its change, then the second one concurrently.
	race := func(t *testing.T, first, second func(meanwhile func()) error) (errFirst, errSecond error) {
		var result <-chan error
		errFirst = first(func() {
			if result == nil {
				result = a.beside(t, func() error { return second(func() {}) })
			}
		})
		return errFirst, <-result
	}
	t.Run("while "+name+" the member is removed", func(t *testing.T) {
		l := set(t)
		change, err := race(t, l.change, remove(t, l))
		must(t, change)
		must(t, err)
		l.left(t)
	})
	t.Run("while the member is removed "+name, func(t *testing.T) {
		l := set(t)
		err, change := race(t, remove(t, l), l.change)
		must(t, err)
		if l.tooLate != nil {
			wantErr(t, change, l.tooLate)
		}
		l.left(t)
	})
}
