package accounts

import (
	"context"
	"slices"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// Groups holds the use cases of the groups in a workspace. by is a member of the workspace, or the system.
type Groups struct{ groups ports.Groups }

// NewGroups returns the use cases on this store.
func NewGroups(g ports.Groups) *Groups { return &Groups{groups: g} }

// List lists the groups of by's workspace, newest first.
func (s *Groups) List(ctx context.Context, by identity.Actor, q page.Query) (account.GroupPage, error) {
	return s.groups.List(ctx, by.Workspace, q)
}

// Get returns one group.
func (s *Groups) Get(ctx context.Context, by identity.Actor, id identity.UserID) (*account.Group, error) {
	return s.groups.Get(ctx, by.Workspace, id)
}

// People lists the people in a group by user id.
func (s *Groups) People(
	ctx context.Context, by identity.Actor, id identity.UserID, q page.Query,
) (account.MemberPage, error) {
	if _, err := s.groups.Get(ctx, by.Workspace, id); err != nil {
		return account.MemberPage{}, err
	}
	return s.groups.People(ctx, by.Workspace, id, q)
}

// Create creates a group without people.
func (s *Groups) Create(
	ctx context.Context, by identity.Actor, d account.GroupDraft,
) (g *account.Group, err error) {
	err = s.groups.Add(ctx, by, func(w *account.Workspace, count int) (_ *account.Group, err error) {
		g, err = w.NewGroup(by, count, d)
		return g, err
	})
	return g, err
}

// Change changes a group.
func (s *Groups) Change(
	ctx context.Context, by identity.Actor, id identity.UserID, match revision.Match, c account.GroupChanges,
) (*account.Group, error) {
	return s.groups.Update(ctx, by, id, nil, func(w *account.Workspace, g *account.Group) error {
		return w.ChangeGroup(by, match, g, c)
	})
}

// Delete ends a group, and the access that it gives its people.
func (s *Groups) Delete(ctx context.Context, by identity.Actor, id identity.UserID, match revision.Match) error {
	_, err := s.groups.Update(ctx, by, id, nil, func(w *account.Workspace, g *account.Group) error {
		return w.DeleteGroup(by, match, g)
	})
	return err
}

// Edit adds people to a group and removes others, all or none of them. A user in both lists is removed. match is for
// the first removal.
func (s *Groups) Edit(
	ctx context.Context, by identity.Actor, id identity.UserID, match revision.Match, add, remove []identity.UserID,
) (*account.Group, error) {
	return s.groups.Update(ctx, by, id, slices.Concat(add, remove),
		func(w *account.Workspace, g *account.Group) error {
			expected := match
			for _, user := range add {
				if err := w.AddToGroup(by, g, user); err != nil {
					return err
				}
			}
			for _, user := range remove {
				if err := w.RemoveFromGroup(by, expected, g, user); err != nil {
					return err
				}
				expected = nil
			}
			return nil
		})
}
