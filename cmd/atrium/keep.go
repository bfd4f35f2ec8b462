package main

import (
	"context"
	"time"
)

// flushWithin is how long the end of the process may wait for what is only about freshness.
const flushWithin = 2 * time.Second

// keepPresences settles what ends by itself, until ctx ends. What was heard and not stored yet is stored
// then, for other nodes and the next start.
func (n *node) keepPresences(ctx context.Context) {
	report := func(err error) { n.log.Warn("presences were not kept; it is tried again", "error", err) }
	n.services.Presences.Keep(ctx, n.orgs.ids, report)
	flush(ctx, n.services.Presences.Flush, report)
}

// keepUses stores when keys were used, until ctx ends.
func (n *node) keepUses(ctx context.Context) {
	report := func(err error) {
		n.log.Warn("the uses of API keys were not noted; it is tried again", "error", err)
	}
	n.services.Uses.Keep(ctx, report)
	flush(ctx, n.services.Uses.Store, report)
}

// linkEventsEvery is how long an event is not part of its workspace's chain.
const linkEventsEvery = time.Second

// linkEvents makes events part of the chains of their workspaces, until ctx ends. It reports an error once,
// until there is another or none.
func (n *node) linkEvents(ctx context.Context) {
	ticker := time.NewTicker(linkEventsEvery)
	defer ticker.Stop()
	last := ""
	for {
		now := ""
		if err := n.db.LinkEvents(ctx, time.Now()); err != nil && ctx.Err() == nil {
			if now = err.Error(); now != last {
				n.log.Warn("events were not linked into their chains; it is tried again", "error", err)
			}
		}
		last = now
		select {
		case <-ctx.Done():
			flush(ctx, func(ctx context.Context) error { return n.db.LinkEvents(ctx, time.Now()) }, func(err error) {
				n.log.Warn("events were not linked into their chains; the next start does", "error", err)
			})
			return
		case <-ticker.C:
		}
	}
}

// flush stores what is in memory alone, at the end of a process.
func flush(ctx context.Context, store func(context.Context) error, report func(error)) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
	defer cancel()
	if err := store(last); err != nil {
		report(err)
	}
}
