package accounts_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestListsOfAnOrg checks who may list the people, workspaces and keys of an org.
func TestListsOfAnOrg(t *testing.T) {
	q := page.Query{Limit: 5}
	operator := identity.Actor{Org: "org", User: "ops", Operator: true, Ceiling: identity.Owner, At: now}
	for name, by := range map[string]identity.Actor{"an operator": operator, "the system": system} {
		t.Run(name+" lists them", func(t *testing.T) {
			s := newEnv(t)
			s.people.EXPECT().List(s.ctx, identity.OrgID("org"), q).
				Return(account.UserPage{Items: []account.User{{ID: "ann"}}}, nil)
			s.workspaces.EXPECT().List(s.ctx, identity.OrgID("org"), q).
				Return(account.WorkspacePage{Items: []account.Workspace{{ID: "acme"}}}, nil)
			s.workspaces.EXPECT().Find(s.ctx, identity.OrgID("org"), "other-slug").Return(&there, nil)
			s.keys.EXPECT().List(s.ctx, there.ID, identity.UserID(""), by.At, q).
				Return(account.KeyPage{Items: []account.Key{{ID: "k"}}}, nil)
			people, err := s.People(s.ctx, by, q)
			require.NoError(t, err)
			workspaces, err := s.OrgWorkspaces(s.ctx, by, q)
			require.NoError(t, err)
			keys, err := s.KeysOf(s.ctx, by, "other-slug", q)
			require.NoError(t, err)
			if people.Items[0].ID != "ann" || workspaces.Items[0].ID != "acme" || keys.Items[0].ID != "k" {
				t.Errorf("%+v %+v %+v", people, workspaces, keys)
			}
		})
	}
	t.Run("an admin of a workspace lists none of them", func(t *testing.T) {
		s := newEnv(t)
		_, err := s.People(s.ctx, admin, q)
		require.ErrorIs(t, err, identity.ErrForbidden)
		_, err = s.OrgWorkspaces(s.ctx, admin, q)
		require.ErrorIs(t, err, identity.ErrForbidden)
		_, err = s.KeysOf(s.ctx, admin, "other-slug", q)
		require.ErrorIs(t, err, identity.ErrForbidden)
	})
}
