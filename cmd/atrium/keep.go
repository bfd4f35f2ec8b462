package main

import (
	"context"
	"time"
)

// flushWithin is how long the end of the process may wait for data that is written late.
const flushWithin = 2 * time.Second

// keepPresences ends expired presences, until ctx ends. Then it stores the heartbeats that are not stored yet, for
// other nodes and the next start.
func (n *node) keepPresences(ctx context.Context) {
	report := func(err error) { n.log.Warn("presences were not updated; retrying", "error", err) }
	n.services.Presences.Keep(ctx, n.orgs.ids, report)
	flush(ctx, n.services.Presences.Flush, report)
}

// keepUses stores when keys were used, until ctx ends.
func (n *node) keepUses(ctx context.Context) {
	report := func(err error) {
		n.log.Warn("the last uses of API keys were not stored; retrying", "error", err)
	}
	n.services.Uses.Keep(ctx, report)
	flush(ctx, n.services.Uses.Store, report)
}

// linkEventsEvery is the interval at which new events are linked into the chain of their workspace.
const linkEventsEvery = time.Second

// linkEvents links events into the chains of their workspaces, until ctx ends. It does not log the same error twice in
// a row.
func (n *node) linkEvents(ctx context.Context) {
	ticker := time.NewTicker(linkEventsEvery)
	defer ticker.Stop()
	last := ""
	for {
		now := ""
		if err := n.db.LinkEvents(ctx, time.Now()); err != nil && ctx.Err() == nil {
			if now = err.Error(); now != last {
				n.log.Warn("events were not linked into their chains; retrying", "error", err)
			}
		}
		last = now
		select {
		case <-ctx.Done():
			flush(ctx, func(ctx context.Context) error { return n.db.LinkEvents(ctx, time.Now()) }, func(err error) {
				n.log.Warn("events were not linked into their chains; the next start links them", "error", err)
			})
			return
		case <-ticker.C:
		}
	}
}

// flush stores data that is only in memory, at the end of a process.
func flush(ctx context.Context, store func(context.Context) error, report func(error)) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
	defer cancel()
	if err := store(last); err != nil {
		report(err)
	}
}
