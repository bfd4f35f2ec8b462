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

// TestASessionIsTheSameByTextAndByColumns reads sessions of somebody in three workspaces as texts. Then it reads them
// by columns, because the name of the browser has a separator.
func TestASessionIsTheSameByTextAndByColumns(t *testing.T) {
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
		for name, of := range map[string]struct {
			key         *account.Key
			memberships int
		}{"of a person": {nil, 3}, "of a key": {key, 1}} {
			t.Run(name, func(t *testing.T) {
				by := identity.System(team.Org, "", "sign-in", fixture.At)
				var opened *session.Session
				require.NoError(t, s.Sessions.Update(ctx, by, user, func(
					p *account.Person, live []*session.Session,
				) (_ *session.Session, err error) {
					opened, _, err = session.Open(by, p, session.ByLink, of.key, "Firefox", live)
					return opened, err
				}))
				byText, err := s.Sessions.Person(ctx, team.Org, opened.Cookie)
				require.NoError(t, err)
				if len(byText.Memberships) != of.memberships || byText.User.ID != user ||
					byText.Key.ID != opened.Key || (of.key != nil && byText.Key.Networks != key.Networks) {
					t.Fatalf("by text: %+v", byText)
				}
				const separated = "Fire\x1ffox"
				require.NoError(t, sqlstore.Exec(ctx, db, `UPDATE sessions SET agent = ? WHERE id = ?`, separated,
					opened.ID))
				db.Forget()
				byColumns, err := s.Sessions.Person(ctx, team.Org, opened.Cookie)
				require.NoError(t, err)
				if byColumns.Session.Agent != separated {
					t.Errorf("the agent is %q", byColumns.Session.Agent)
				}
				byColumns.Session.Agent = byText.Session.Agent
				if d := cmp.Diff(byText, byColumns, cmpopts.IgnoreTypes(event.Log{})); d != "" {
					t.Errorf("(-by text +by columns)\n%s", d)
				}
			})
		}
	})
}
