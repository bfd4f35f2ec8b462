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
	var failure error
	for org, watched := range s.feed.watchedUsers() {
		if len(watched.users) == 0 {
			delete(last, org)
			continue
		}
		current, err := s.store.Workspaces(ctx, org, watched.users)
		if err != nil {
			failure = errors.Join(failure, err)
			continue
		}
		var users []identity.UserID
		for _, user := range watched.users {
			if !slices.Equal(current[user], last[org][user]) {
				users = append(users, user)
			}
		}
		last[org] = current
		s.feed.regrouped(org, users, watched.due)
	}
	return failure
}

// watchedUsers holds the users that an org's watches depend on, and the watches that are due for a reason other than a
// changed membership.
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
func (f *feed) regrouped(org identity.OrgID, users []identity.UserID, due []*Watch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.orgFeed(org)
	for _, user := range users {
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
