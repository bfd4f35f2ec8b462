package sqlstore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestASessionIsReadWithAllMemberships reads sessions of somebody in three workspaces, and changes the browser's name.
func TestASessionIsReadWithAllMemberships(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		ctx := t.Context()
		db := open(t, url, databases.Keyring(t))
		orgs, err := db.EnsureOrgs(ctx, []string{"one"})
		require.NoError(t, err)
		s := db.Stores()
		team := fixture.NewTeam(t, s, orgs["one"])
		user := team.Member.User
		for range 2 {
			require.NoError(t, sqlstore.Exec(ctx, db, `INSERT INTO memberships
				(workspace_id, user_id, role, by_hand, grouped, revision, created_at, updated_at)
				VALUES (?, ?, ?, ?, TRUE, 1, 1, 1)`, fixture.NewTeam(t, s, team.Org).Workspace.ID, user, identity.Admin,
				identity.Viewer))
		}
		key, _ := fixture.Key(t, s, team.Member, account.KeyDraft{Name: "k", Networks: "192.0.2.0/24 198.51.100.7/32"})
		for name, owner := range map[string]struct {
			key         *account.Key
			memberships int
		}{"of a person": {nil, 3}, "of a key": {key, 1}} {
			t.Run(name, func(t *testing.T) {
				by := identity.System(team.Org, "", "sign-in", fixture.At)
				var openedSession *session.Session
				require.NoError(t, s.Sessions.Update(ctx, by, user, func(
					p *account.Person, live []*session.Session,
				) (_ *session.Session, err error) {
					openedSession, _, err = session.Open(by, p, session.ByLink, owner.key, "Firefox", live)
					return openedSession, err
				}))
				first, err := s.Sessions.Person(ctx, team.Org, openedSession.Cookie)
				require.NoError(t, err)
				if len(first.Memberships) != owner.memberships || first.User.ID != user ||
					first.Key.ID != openedSession.Key || (owner.key != nil && first.Key.Networks != key.Networks) {
					t.Fatalf("%+v", first)
				}
				const agent = "7:Fire\x1ffox "
				require.NoError(t, sqlstore.Exec(ctx, db, `UPDATE sessions SET agent = ? WHERE id = ?`, agent,
					openedSession.ID))
				db.Forget()
				second, err := s.Sessions.Person(ctx, team.Org, openedSession.Cookie)
				require.NoError(t, err)
				if second.Session.Agent != agent {
					t.Errorf("the agent is %q", second.Session.Agent)
				}
				second.Session.Agent = first.Session.Agent
				if d := cmp.Diff(first, second, cmpopts.IgnoreTypes(event.Log{})); d != "" {
					t.Errorf("(-first +again)\n%s", d)
				}
			})
		}
	})
}
