package presences

import (
	"context"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// How long a node counts as alive, and how often it reports that it is.
const (
	aliveFor  = time.Minute
	keepEvery = 10 * time.Second
	freeFor   = 5 * time.Second // the time limit for storing that a stream has ended
)

// Seats limits how many streams a workspace has open on all nodes together. Streams of workspaces
// without such a limit are not stored.
type Seats struct {
	store  ports.StreamSeats
	quotas ports.Quotas
	node   string

	mu     sync.Mutex
	taken  int
	keptAt time.Time
}

// NewSeats returns a node's seats.
func NewSeats(s ports.StreamSeats, q ports.Quotas) *Seats {
	return &Seats{store: s, quotas: q, node: id.New("node")}
}

// Take counts a stream that by is about to open, until free is called. A *quota.LimitError if the
// workspace has too many. A caller in no workspace takes no seat.
func (s *Seats) Take(ctx context.Context, by identity.Actor) (free func() error, err error) {
	noop := func() error { return nil }
	if by.Workspace == "" {
		return noop, nil
	}
	limits, err := s.quotas(ctx, by)
	if err != nil || !limits.Bounds(quota.Streams) {
		return noop, err
	}
	s.count(1)
	if err := s.Keep(ctx, by.At); err != nil {
		s.count(-1)
		return nil, err
	}
	check := func(usage quota.Amounts) error { return limits.Check(usage, quota.Streams) }
	if err := s.store.Take(ctx, by.Workspace, s.node, by.At, check); err != nil {
		s.count(-1)
		return nil, err
	}
	return func() error {
		defer s.count(-1)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), freeFor)
		defer cancel()
		return s.store.Free(ctx, by.Workspace, s.node)
	}, nil
}

func (s *Seats) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken += n
}

// Keep reports that the node is alive, if it has taken seats and has not done so for some seconds. It must be called at
// least every half minute while streams are open.
func (s *Seats) Keep(ctx context.Context, now time.Time) error {
	s.mu.Lock()
	due := s.taken > 0 && now.Sub(s.keptAt).Abs() >= keepEvery // the clock may have been set back
	s.mu.Unlock()
	if !due {
		return nil
	}
	if err := s.store.Keep(ctx, s.node, now, now.Add(aliveFor)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keptAt = now
	return nil
}
