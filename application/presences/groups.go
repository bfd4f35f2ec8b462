package presences

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/atrium-hq/atrium/domain/identity"
)

// groups holds the workspaces, as last read, of the users that watches name and of the watches' own
// users.
type groups map[identity.OrgID]map[identity.UserID][]identity.WorkspaceID

// regroup reads the groups again, for all watches at once, and signals the watches that a difference
// may concern. If each watch read them, there would be a thousand queries for data that hardly ever
// changes.
func (s *Service) regroup(ctx context.Context, last groups) error {
	var failed error
	for org, named := range s.feed.watchedUsers() {
		if len(named.users) == 0 {
			delete(last, org)
			continue
		}
		now, err := s.store.Workspaces(ctx, org, named.users)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		var moved []identity.UserID
		for _, user := range named.users {
			if !slices.Equal(now[user], last[org][user]) {
				moved = append(moved, user)
			}
		}
		last[org] = now
		s.feed.regrouped(org, moved, named.due)
	}
	return failed
}

// watchedUsers holds the users that the watches of an org depend on, and the watches that are due for a
// reason other than a changed membership.
type watchedUsers struct {
	users []identity.UserID
	due   []*Watch
}

func (f *feed) watchedUsers() map[identity.OrgID]watchedUsers {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[identity.OrgID]watchedUsers{}
	for org, o := range f.orgs {
		out[org] = watchedUsers{slices.Collect(maps.Keys(o.depending)), slices.Collect(maps.Keys(o.due))}
	}
	return out
}

// regrouped signals watches that the set of users they see may have changed.
func (f *feed) regrouped(org identity.OrgID, moved []identity.UserID, due []*Watch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.orgFeed(org)
	for _, user := range moved {
		due = append(due, o.depending[user]...)
	}
	for _, w := range due {
		delete(o.due, w)
		signal(w.Regrouped)
	}
}

// names yields the users whose workspaces decide what w sees. It yields none if w sees all users or
// only its caller.
func (w *Watch) names() iter.Seq[identity.UserID] {
	if w.by.Operator || len(w.requested) == 0 {
		return func(func(identity.UserID) bool) {}
	}
	return slices.Values(append(slices.Clone(w.requested), w.by.User))
}
