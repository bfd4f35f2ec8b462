package account

import (
	"errors"
	"slices"

	"github.com/atrium-hq/atrium/domain/identity"
)

// followGroups makes User one of the people of the groups that the claims list, and takes User out of those that the
// claims do not list and that have an external id. A group that is full, and a group beyond a person's limit, is left
// out: a sign-in does not fail for it.
func (s *SignIn) followGroups(by identity.Actor) error {
	names, ok := s.Claims.Groups(s.Org)
	if !ok {
		return nil
	}
	for _, g := range s.Groups {
		w := s.workspaceOf(g)
		if w == nil || g.External == "" {
			continue
		}
		var err error
		if slices.Contains(names, g.External) {
			err = w.join(by, g, s.User.ID)
		} else if _, isIn := g.People[s.User.ID]; isIn {
			err = w.RemoveFromGroup(by, nil, g, s.User.ID)
		}
		if err != nil && !errors.Is(err, ErrTooManyInGroup) && !errors.Is(err, ErrTooManyGroupsOfPerson) {
			return err
		}
	}
	return nil
}

// workspaceOf returns a group's workspace if User is a member of it; nil otherwise.
func (s *SignIn) workspaceOf(g *Group) *Workspace {
	for _, w := range s.Workspaces {
		if w.ID == g.Workspace && w.DeletedAt.IsZero() && w.Members[s.User.ID].Role != identity.NoRole {
			return w
		}
	}
	return nil
}
