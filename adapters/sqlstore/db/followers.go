package db

import (
	"maps"
	"slices"
	"sync"

	"github.com/atrium-hq/atrium/domain/identity"
)

// followers are the readers in this process that wait for linked events.
type followers struct {
	recorded chan struct{} // receives after a change was stored while someone waits

	mu   sync.Mutex
	all  map[identity.WorkspaceID]map[chan struct{}]struct{}
	told map[identity.WorkspaceID]int64 // the place of the last event of which followers were notified
}

func newFollowers() *followers {
	return &followers{
		recorded: make(chan struct{}, 1), all: map[identity.WorkspaceID]map[chan struct{}]struct{}{},
		told: map[identity.WorkspaceID]int64{},
	}
}

// stored notifies Recorded's channel that a change was stored.
func (f *followers) stored() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.all) > 0 {
		wakeUp(f.recorded)
	}
}

// workspaces returns the workspaces that someone follows, sorted.
func (f *followers) workspaces() []identity.WorkspaceID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.all))
}

// tell wakes the followers of a workspace, unless they have already been notified of the event at a place.
func (f *followers) tell(ws identity.WorkspaceID, place int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.all[ws]) == 0 || f.told[ws] == place {
		return
	}
	f.told[ws] = place
	for wake := range f.all[ws] {
		wakeUp(wake)
	}
}

// wakeUp sends without waiting: a signal that was not received yet is enough.
func wakeUp(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
