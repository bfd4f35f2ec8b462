package accounts

import (
	"sync"
	"time"

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

// get returns a workspace's number, if it is still valid.
func (s *counts) get(ws identity.WorkspaceID, generation uint64, now time.Time) (n int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.byWorkspace[ws]
	return c.n, ok && c.generation == generation && now.Sub(c.read) < time.Second
}

// put stores a workspace's number.
func (s *counts) put(ws identity.WorkspaceID, c count) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byWorkspace == nil || len(s.byWorkspace) >= maxCounts {
		s.byWorkspace = map[identity.WorkspaceID]count{}
	}
	s.byWorkspace[ws] = c
}
