package accounts_test

import (
	"context"
	"slices"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/require"
)

// grouping is a Groups on a mocked port, with a group of which bob is.
type grouping struct {
	*accounts.Groups
	store *mocks.MockGroups
	g     *account.Group
}

func newGrouping(t *testing.T) *grouping {
	s := &grouping{store: mocks.NewMockGroups(gomock.NewController(t))}
	s.Groups = accounts.NewGroups(s.store)
	return s
}

func groupWorkspace() *account.Workspace {
	return &account.Workspace{ID: "acme", Org: "org", Members: map[identity.UserID]account.Member{
		"ada": {User: "ada", Role: identity.Admin}, "bob": {User: "bob", Role: identity.Viewer},
		"mia": {User: "mia", Role: identity.Member},
	}}
}

// expectUpdate runs changes of the group twice, as stores do after a conflict.
func (s *grouping) expectUpdate(by identity.Actor, extra []identity.UserID) {
	s.store.EXPECT().Update(gomock.Any(), by, identity.UserID("grp"), extra, gomock.Any()).DoAndReturn(func(
		_ context.Context, _ identity.Actor, _ identity.UserID, _ []identity.UserID,
		change func(*account.Workspace, *account.Group) error,
	) (*account.Group, error) {
		for range 2 {
			s.g = &account.Group{ID: "grp", Org: "org", Workspace: "acme", Name: "Support", Revision: 1,
				People: map[identity.UserID]struct{}{"bob": {}}}
			if err := change(groupWorkspace(), s.g); err != nil {
				return nil, err
			}
		}
		return s.g, nil
	})
}

func TestGroups(t *testing.T) {
	empty := []identity.UserID(nil)
	t.Run("an admin creates one, a member cannot", func(t *testing.T) {
		for by, want := range map[*identity.Actor]error{&admin: nil, &member: identity.ErrForbidden} {
			s := newGrouping(t)
			var group *account.Group
			s.store.EXPECT().Add(gomock.Any(), *by, gomock.Any()).DoAndReturn(func(
				_ context.Context, by identity.Actor, change func(*account.Workspace, int) (*account.Group, error),
			) (err error) {
				w := groupWorkspace()
				w.Members[by.User] = account.Member{User: by.User, Role: by.Role}
				group, err = change(w, 0)
				return err
			})
			g, err := s.Create(t.Context(), *by, account.GroupDraft{Name: "Support"})
			require.ErrorIs(t, err, want)
			if g != group || (g == nil) != (want != nil) {
				t.Errorf("it is %+v", g)
			}
		}
	})
	t.Run("people are added and removed together", func(t *testing.T) {
		s := newGrouping(t)
		add, remove := []identity.UserID{"mia", "ada"}, []identity.UserID{"bob", "ada"}
		s.expectUpdate(admin, slices.Concat(add, remove))
		g, err := s.Edit(t.Context(), admin, "grp", nil, add, remove)
		require.NoError(t, err)
		if _, isIn := g.People["mia"]; !isIn || len(g.People) != 1 {
			t.Errorf("the people are %v", g.People)
		}
	})
	t.Run("or not at all", func(t *testing.T) {
		s := newGrouping(t)
		s.expectUpdate(admin, []identity.UserID{"mia", "out"})
		_, err := s.Edit(t.Context(), admin, "grp", nil, []identity.UserID{"mia", "out"}, nil)
		require.ErrorIs(t, err, account.ErrMemberNotFound)
	})
	t.Run("it is changed and deleted", func(t *testing.T) {
		s := newGrouping(t)
		s.expectUpdate(admin, empty)
		g, err := s.Change(t.Context(), admin, "grp", nil, account.GroupChanges{Name: new("Help")})
		require.NoError(t, err)
		if g.Name != "Help" {
			t.Errorf("it is %+v", g)
		}
		s.expectUpdate(admin, empty)
		require.NoError(t, s.Delete(t.Context(), admin, "grp", nil))
		if !s.g.Deleted {
			t.Error("it is not deleted")
		}
	})
	t.Run("the people of a group that does not exist are not found", func(t *testing.T) {
		s := newGrouping(t)
		s.store.EXPECT().Get(gomock.Any(), identity.WorkspaceID("acme"), identity.UserID("grp")).Return(
			nil, account.ErrGroupNotFound)
		_, err := s.People(t.Context(), admin, "grp", page.Query{})
		require.ErrorIs(t, err, account.ErrGroupNotFound)
	})
}
