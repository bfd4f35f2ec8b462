package presences

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
)

const (
	tick   = 250 * time.Millisecond // how often the wheel turns, and the store is asked what is due
	batch  = 200                    // records a transaction
	oweAll = 500 * time.Millisecond // what nobody settled for so long is anybody's
)

// Keep settles what ends by itself, and stores what is fresher in memory, until ctx ends. orgs are
// those that there are at the time; report hears of failures, after which it is tried again.
func (s *Service) Keep(ctx context.Context, orgs func() []identity.OrgID, report func(error)) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for first := true; ; first = false {
		s.settleDue(ctx, report)
		if first || s.registry.shared { // alone, it is owed what was due before it started and no more
			for _, org := range orgs() {
				s.adopt(ctx, org, report)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// settleDue settles the records of this node whose moment has come.
func (s *Service) settleDue(ctx context.Context, report func(error)) {
	for org, users := range s.registry.due(s.now()) {
		s.settle(ctx, org, users, report)
	}
}

// adopt settles what a node left behind that is gone.
func (s *Service) adopt(ctx context.Context, org identity.OrgID, report func(error)) {
	for {
		users, err := s.store.Due(ctx, org, s.now().Add(-oweAll), batch)
		if err != nil {
			report(err)
		}
		if len(users) == 0 || !s.settle(ctx, org, users, report) || len(users) < batch {
			return
		}
	}
}

func (s *Service) settle(ctx context.Context, org identity.OrgID, users []identity.UserID, report func(error)) (ok bool) {
	ok = true
	for len(users) > 0 {
		part := users[:min(batch, len(users))]
		users = users[len(part):]
		if _, err := s.update(ctx, org, part, func(r *presence.Record) error {
			s.registry.freshen(r)
			r.Settle(s.now())
			return nil
		}); err != nil {
			ok = false
			s.registry.retry(org, part, s.now())
			if ctx.Err() == nil {
				report(err)
			}
		}
	}
	return ok
}

// Flush stores what is fresher in memory, before the process ends.
func (s *Service) Flush(ctx context.Context, report func(error)) {
	for org, users := range s.registry.unstored() {
		s.settle(ctx, org, users, report)
	}
}
