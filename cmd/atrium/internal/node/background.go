package node

import (
	"context"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/prompts"
	"github.com/atrium-hq/atrium/domain/identity"
)

// flushWithin is how long the end of the process may wait for data that is written late.
const flushWithin = 2 * time.Second

// turn is how long after the loop before it a loop begins, if its first round reads the database. A round lasts a few
// milliseconds, so each finds a connection that the earlier ones no longer use. Otherwise a start would open a
// connection for each loop. The first ones begin after the server, whose first requests then find the connection that
// the start has used. Their intervals are multiples of each other, so later rounds are as far apart.
const turn = 25 * time.Millisecond

// startStaggered calls loop when its turn has come, and at once if ctx ends before: a loop also stores what is in
// memory.
func startStaggered(ctx context.Context, place int, loop func(context.Context)) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(place) * turn):
	}
	loop(ctx)
}

// Background runs a server's loops until ctx ends. It returns when all of them have stored what they hold in memory.
func (n *Node) Background(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { startStaggered(ctx, 1, n.runPresences) })
	running.Go(func() { startStaggered(ctx, 1, n.lookForChanges) })
	running.Go(func() { startStaggered(ctx, 1, n.linkEvents) })
	clock := newClock(n.Registry) // before its turn, so that the metric is never missing
	running.Go(func() { startStaggered(ctx, 4, func(ctx context.Context) { n.runClock(ctx, clock) }) })
	running.Go(func() { startStaggered(ctx, 5, n.settleDirectories) })
	running.Go(func() { startStaggered(ctx, 7, n.noteReferences) })
	running.Go(func() { n.runKeyUsage(ctx) })
	running.Go(func() { n.runSessionUsage(ctx) })
	running.Go(func() { n.runEmbedUsage(ctx) })
	running.Go(func() { n.runReplyCounts(ctx) })
	running.Go(func() { n.runPromptReads(ctx) })
	running.Go(func() { n.External.Gateways.runPrices(ctx) })
	running.Wait()
}

// Work runs queued jobs until ctx ends. Running jobs then have as long to finish as requests.
func (n *Node) Work(ctx context.Context) {
	var linking sync.WaitGroup
	defer linking.Wait()
	linking.Go(func() { n.linkEvents(ctx) })
	n.Jobs(ctx)
}

// runPresences ends expired presences, until ctx ends. Then it stores the heartbeats that are not stored yet, for
// other nodes and the next start.
func (n *Node) runPresences(ctx context.Context) {
	report := func(err error) { n.Log.Warn("presences were not updated; retrying", "error", err) }
	n.Services.Presences.Run(ctx, n.Orgs.ids, report)
	flush(ctx, n.Services.Presences.Flush, report)
}

// runKeyUsage stores when keys were used, until ctx ends.
func (n *Node) runKeyUsage(ctx context.Context) {
	report := func(err error) {
		n.Log.Warn("the last uses of API keys were not stored; retrying", "error", err)
	}
	n.Services.KeyUsage.Run(ctx, report)
	flush(ctx, n.Services.KeyUsage.Flush, report)
}

// runSessionUsage stores when sessions were used, until ctx ends.
func (n *Node) runSessionUsage(ctx context.Context) {
	report := func(err error) {
		n.Log.Warn("the last uses of sessions were not stored; retrying", "error", err)
	}
	n.Services.SessionUsage.Run(ctx, report)
	flush(ctx, n.Services.SessionUsage.Flush, report)
}

// runEmbedUsage stores how often embed tokens were used, until ctx ends.
func (n *Node) runEmbedUsage(ctx context.Context) {
	report := func(err error) { n.Log.Warn("the use of embed tokens was not stored; retrying", "error", err) }
	n.Services.EmbedUsage.Run(ctx, report)
	flush(ctx, n.Services.EmbedUsage.Flush, report)
}

// runReplyCounts returns unused reservations of replies, and forwards turns to webhooks, until ctx ends.
func (n *Node) runReplyCounts(ctx context.Context) {
	report := func(err error) { n.Log.Warn("answers that were counted ahead stay counted", "error", err) }
	var forwarding sync.WaitGroup
	forwarding.Go(func() {
		n.Services.Transcripts.Run(ctx, func(err error) { n.Log.Warn("a transcript did not arrive", "error", err) })
	})
	n.Services.Replies.Run(ctx, report)
	forwarding.Wait() // the turns that it loses are counted
	flush(ctx, n.Services.Replies.Flush, report)
}

// runPromptReads stores how often prompts were read, until ctx ends.
func (n *Node) runPromptReads(ctx context.Context) {
	report := func(err error) {
		n.Log.Warn("the reads of prompts were not stored; retrying", "error", err)
	}
	n.Services.PromptReads.Run(ctx, report)
	flush(ctx, n.Services.PromptReads.Flush, report)
}

const (
	// lookEvery is the interval at which a node looks for changes of other nodes.
	lookEvery = 500 * time.Millisecond

	// lookFor is how long a look may take. What is cached counts as current for a second after a look's beginning.
	lookFor = time.Second
)

// lookForChanges looks for changes of other nodes, until ctx ends. It does so whether anything is cached or not, so
// that the database has the same load. A failure needs no report: reads query the database in the meantime, and report
// it.
func (n *Node) lookForChanges(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		look, cancel := context.WithTimeout(ctx, lookFor)
		_ = n.DB.LookForChanges(look, time.Now())
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// settleEvery is the interval at which roles that follow from a directory's groups are updated after an interrupted
// request or a change of the claim rules.
const settleEvery = time.Minute

// settleDirectories settles what the directories of orgs say, until ctx ends.
func (n *Node) settleDirectories(ctx context.Context) {
	for tick := time.NewTicker(settleEvery); ; {
		for _, org := range n.Orgs.Directory().All() {
			if org.SCIM == nil {
				continue
			}
			by := identity.System(org.ID, "", "scim", time.Now())
			if err := n.Services.Directory.Settle(ctx, by, &org); err != nil && ctx.Err() == nil {
				n.Log.Warn("roles do not follow the directory yet; retrying", "org", org.Slug, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		case <-n.Services.Directory.Left():
		}
	}
}

// noteReferencesEvery is how long after a person has lost the right to read a prompt at the latest an event says which
// of their chats and prompts stay at its version. That they stay needs no note.
const noteReferencesEvery = time.Minute

// noteReferences notes which references have lost their prompt, or got it back, until ctx ends.
func (n *Node) noteReferences(ctx context.Context) {
	tick := time.NewTicker(noteReferencesEvery)
	defer tick.Stop()
	for {
		by := identity.System("", "", "prompt references", time.Now())
		if err := prompts.NewStore(n.DB.DB).NoteReferences(ctx, by); err != nil && ctx.Err() == nil {
			n.Log.Warn("references to prompts were not noted; retrying", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// linkEventsEvery is the interval at which new events are linked into the chain of their workspace.
const linkEventsEvery = time.Second

// linkEventsFollowed is that interval while someone follows events on this node, so that changes on other nodes arrive
// sooner.
const linkEventsFollowed = 250 * time.Millisecond

// linkEventsSoon is how long after a change its events are linked if someone follows them. Changes within that time are
// linked together.
const linkEventsSoon = 50 * time.Millisecond

// linkEvents links events into the chains of their workspaces, until ctx ends. It does not log the same error twice in
// a row.
func (n *Node) linkEvents(ctx context.Context) {
	last := ""
	for {
		current := ""
		if err := n.DB.Events().Link(ctx, time.Now()); err != nil && ctx.Err() == nil {
			if current = err.Error(); current != last {
				n.Log.Warn("events were not linked into their chains; retrying", "error", err)
			}
		}
		last = current
		wait := linkEventsEvery
		if n.DB.Followed() {
			wait = linkEventsFollowed
		}
		select {
		case <-ctx.Done():
			flush(ctx, func(ctx context.Context) error { return n.DB.Events().Link(ctx, time.Now()) }, func(err error) {
				n.Log.Warn("events were not linked into their chains; the next start links them", "error", err)
			})
			return
		case <-time.After(wait):
		case <-n.DB.Recorded():
			select {
			case <-ctx.Done():
			case <-time.After(linkEventsSoon):
			}
		}
	}
}

// flush stores data that is only in memory, at a process's end.
func flush(ctx context.Context, store func(context.Context) error, report func(error)) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
	defer cancel()
	if err := store(last); err != nil {
		report(err)
	}
}
