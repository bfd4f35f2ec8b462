package sqlstore_test

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestAChangeOfAWorkspaceWritesOnlyTheMembershipsThatChanged(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, sent := databases.Watched(t, url)
		orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
		if err != nil {
			t.Fatal(err)
		}
		s := db.Stores()
		team := fixture.NewTeam(t, s, orgs["one"])
		by, member := team.Owner, team.Member.User
		for name, tt := range map[string]struct {
			change func(*account.Workspace) error
			writes int
		}{
			"another name": {func(w *account.Workspace) error {
				return w.Change(by, nil, nil, account.WorkspaceChanges{Name: new("renamed")})
			}, 0},
			"another role": {func(w *account.Workspace) error {
				_, err := w.ChangeRole(by, nil, member, identity.Viewer, false)
				return err
			}, 1},
		} {
			t.Run(name, func(t *testing.T) {
				sent.Take()
				also := []identity.UserID{member, team.Peer.User}
				if _, err := s.Workspaces.Update(t.Context(), by, team.Workspace.ID, also, tt.change); err != nil {
					t.Fatal(err)
				}
				writes := 0
				for _, statement := range sent.Take() {
					if strings.Contains(statement.Query, "INTO memberships") {
						writes++
					}
				}
				if writes != tt.writes {
					t.Errorf("%d memberships are written, want %d", writes, tt.writes)
				}
			})
		}
	})
}
