package confine

import (
	"context"
	"sync"

	"github.com/atrium-hq/atrium/domain/identity"
)

// shares keeps one tenant's jobs from taking every place: each tenant has at most so many under way, and the
// others of theirs wait without a place. Whoever lets a job hang, such as by a host that never answers, holds
// up nobody but themselves.
type shares struct {
	most int // jobs of one tenant at a time

	mu sync.Mutex
	of map[identity.WorkspaceID]*share
}

type share struct {
	running chan struct{}
	users   int // jobs that run or wait
}

func newShares(atOnce int) *shares {
	return &shares{most: max(1, atOnce/2), of: map[identity.WorkspaceID]*share{}}
}

// take waits until a tenant may run one more job, which is to release it.
func (s *shares) take(ctx context.Context, tenant identity.WorkspaceID) (release func(), err error) {
	s.mu.Lock()
	own := s.of[tenant]
	if own == nil {
		own = &share{running: make(chan struct{}, s.most)}
		s.of[tenant] = own
	}
	own.users++
	s.mu.Unlock()
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(s.of, tenant)
		}
	}
	select {
	case own.running <- struct{}{}:
		return func() { <-own.running; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
