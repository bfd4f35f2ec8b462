package presences

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/atrium-hq/atrium/domain/identity"
)

// groups are the workspaces of those whom watches name, and of those whose watches these are, as they
// were read last.
type groups map[identity.OrgID]map[identity.UserID][]identity.WorkspaceID

// regroup reads them anew, of all watches at once, and tells those that a difference may concern. One by
// one, they would ask a thousand times for what hardly ever changes.
func (s *Service) regroup(ctx context.Context, last groups) error {
	var failed error
	for org, named := range s.feed.named() {
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

// company is whom watches of an org concern, and those watches that are due for another reason than that
// somebody moved.
type company struct {
	users []identity.UserID
	due   []*Watch
}

func (f *feed) named() map[identity.OrgID]company {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[identity.OrgID]company{}
	for org, o := range f.orgs {
		out[org] = company{slices.Collect(maps.Keys(o.named)), slices.Collect(maps.Keys(o.due))}
	}
	return out
}

// regrouped tells watches that they may see others than before.
func (f *feed) regrouped(org identity.OrgID, moved []identity.UserID, due []*Watch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.in(org)
	for _, user := range moved {
		due = append(due, o.named[user]...)
	}
	for _, w := range due {
		delete(o.due, w)
		signal(w.Regrouped)
	}
}

// names are the users on whose workspaces it depends whom w sees; nobody if it sees whatever there is, or
// its caller alone.
func (w *Watch) names() iter.Seq[identity.UserID] {
	if w.by.Operator || len(w.asked) == 0 {
		return func(func(identity.UserID) bool) {}
	}
	return slices.Values(append(slices.Clone(w.asked), w.by.User))
}
