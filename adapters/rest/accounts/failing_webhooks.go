package accounts

import (
	"sync"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/identity"
)

// counts keeps a number for each workspace.
type counts struct {
	mu          sync.Mutex
	byWorkspace map[identity.WorkspaceID]count
}

// count is a number, with the generation of the workspace and the time before it was read.
type count struct {
	n          int
	generation uint64
	read       time.Time
}

// maxCounts is how many workspaces have a number in memory; an entry needs about 100 bytes.
const maxCounts = 20_000

// get returns the number of a workspace, if it is still valid.
func (s *counts) get(ws identity.WorkspaceID, generation uint64, now time.Time) (n int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.byWorkspace[ws]
	return c.n, ok && c.generation == generation && now.Sub(c.read) < time.Second
}

// put stores the number of a workspace.
func (s *counts) put(ws identity.WorkspaceID, c count) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byWorkspace == nil || len(s.byWorkspace) >= maxCounts {
		s.byWorkspace = map[identity.WorkspaceID]count{}
	}
	s.byWorkspace[ws] = c
}

// failingWebhooks counts the endpoints of the workspace that need attention. Actions of people in the workspace change
// the number at once, and those of endpoints within a second.
func (a *Handlers) failingWebhooks(r *server.Call) (int, error) {
	generation, settled := r.API.Changes.Generation(r.By.Workspace)
	read := time.Now()
	if n, known := a.failing.get(r.By.Workspace, generation, read); known && settled && !r.MustRead() {
		return n, nil
	}
	n, err := r.Webhooks.Failing(r.Context(), r.By)
	if err == nil && settled {
		a.failing.put(r.By.Workspace, count{n, generation, read})
	}
	return n, err
}
