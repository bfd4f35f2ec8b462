package presences

import (
	"context"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
)

const (
	tick          = 250 * time.Millisecond // how often the wheel turns
	poll          = time.Second            // how often the store is read for changes without a signal
	settleBatch   = 200                    // records per transaction
	takeoverAfter = 500 * time.Millisecond // overdue records that any node may settle after this time
)

// Run settles records that are due, stores what is newer in memory, and follows what other nodes
// store, until ctx ends. orgs returns the current orgs. report receives errors, after which Run tries
// again.
func (s *Service) Run(ctx context.Context, orgs func() []identity.OrgID, report func(error)) {
	quiet := func(err error) {
		if err != nil && ctx.Err() == nil {
			report(err)
		}
	}
	for _, org := range orgs() {
		quiet(s.settleOverdue(ctx, org, s.now().Add(presence.MaxClaim+presence.MaxTTL)))
	}
	var following sync.WaitGroup
	following.Go(func() { s.follow(ctx, quiet) })
	if s.signals != nil {
		following.Go(func() { quiet(s.signals.Listen(ctx, func(org identity.OrgID) { s.feed.changed(org, false) })) })
	}
	defer following.Wait()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for lastPoll, last := time.Now(), (groups{}); ; { // not s.now(), which may go back
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for org, users := range s.registry.due(s.now()) {
			quiet(s.settle(ctx, org, users))
		}
		if time.Since(lastPoll) < poll {
			continue
		}
		lastPoll = time.Now()
		quiet(s.regroup(ctx, last))
		if s.registry.shared { // a single node has everything on its wheel
			for _, org := range orgs() {
				quiet(s.settleOverdue(ctx, org, s.now().Add(-takeoverAfter)))
			}
		}
	}
}

// settleOverdue settles records that are due by a time, whichever node heard of them last, because a node may
// have stopped.
func (s *Service) settleOverdue(ctx context.Context, org identity.OrgID, by time.Time) error {
	for cursor := (presence.DueEntry{}); ; {
		entries, err := s.store.Due(ctx, org, by, cursor, settleBatch)
		if err != nil || len(entries) == 0 {
			return err
		}
		users := make([]identity.UserID, len(entries))
		for i, o := range entries {
			users[i] = o.User
		}
		if err := s.settle(ctx, org, users); err != nil {
			return err
		}
		cursor = entries[len(entries)-1]
	}
}

// settle ends what has ended in some records, and stores what is newer here.
func (s *Service) settle(ctx context.Context, org identity.OrgID, users []identity.UserID) error {
	for len(users) > 0 {
		part := users[:min(settleBatch, len(users))]
		if _, err := s.update(ctx, org, part, func(r *presence.Record) error {
			now := s.now() // of before the devices are merged, in case a correction moves them
			s.registry.mergeDevices(r, now)
			r.Settle(now)
			return nil
		}); err != nil {
			s.registry.retry(org, users, s.now())
			return err
		}
		users = users[len(part):]
	}
	return nil
}

// Flush stores what is newer in memory, before the process ends.
func (s *Service) Flush(ctx context.Context) error {
	for org, users := range s.registry.unstored() {
		if err := s.settle(ctx, org, users); err != nil {
			return err
		}
	}
	return nil
}
