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

// flush stores what is in memory alone, at the end of a process.
func flush(ctx context.Context, store func(context.Context) error, report func(error)) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
	defer cancel()
	if err := store(last); err != nil {
		report(err)
	}
}
