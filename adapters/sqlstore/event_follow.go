package sqlstore

import (
	"sync"

	"github.com/atrium-hq/atrium/domain/identity"
)

// followers are those of this process who wait for events that have their place.
type followers struct {
	recorded chan struct{} // receives after a change was stored while someone waits

	mu  sync.Mutex
	all map[identity.WorkspaceID]map[chan struct{}]struct{}
}

func newFollowers() *followers {
	return &followers{
		recorded: make(chan struct{}, 1), all: map[identity.WorkspaceID]map[chan struct{}]struct{}{},
	}
}

// Follow implements ports.Events.
func (s *Events) Follow(ws identity.WorkspaceID) (news <-chan struct{}, stop func()) {
	f, wake := s.db.followers, make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all[ws] == nil {
		f.all[ws] = map[chan struct{}]struct{}{}
	}
	f.all[ws][wake] = struct{}{}
	return wake, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if delete(f.all[ws], wake); len(f.all[ws]) == 0 {
			delete(f.all, ws)
		}
	}
}

// Recorded returns a channel that receives after this process has stored a change while someone follows events. Then
// LinkEvents need not wait for its next time.
func (db *DB) Recorded() <-chan struct{} { return db.followers.recorded }

// stored tells that a change was stored.
func (f *followers) stored() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.all) > 0 {
		wakeUp(f.recorded)
	}
}

// tell wakes those who follow a workspace.
func (f *followers) tell(ws identity.WorkspaceID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for wake := range f.all[ws] {
		wakeUp(wake)
	}
}

// wakeUp sends without waiting: what the receiver has not received yet is enough.
func wakeUp(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
