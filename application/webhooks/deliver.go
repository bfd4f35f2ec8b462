package webhooks

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
)

const (
	atOnce       = 5    // deliveries to one endpoint
	endpoints    = 200  // that a node works on at the same time
	endpointsOrg = 50   // of one org
	takenAtOnce  = 10   // from the queue
	pendingMost  = 1000 // of one endpoint: about different subjects
	readAtOnce   = 100  // events of one endpoint

	pollEvery = time.Second
	turn      = 5 * time.Second  // how long an endpoint is served before others
	leaseFor  = 10 * time.Second // more than a turn; then another node takes over, if this one was killed
	renewed   = 3 * time.Second  // how often a lease is, while deliveries are sent
)

// Deliverer delivers events to endpoints. Endpoints are served independently, so that a slow one delays no other, and
// each by one node at a time.
type Deliverer struct {
	queue  ports.WebhookQueue
	events ports.Events
	keys   Keys
	send   ports.WebhookSender
	egress EgressOf
	wake   chan struct{}

	mu      sync.Mutex
	working map[identity.OrgID]int // endpoints
	total   int
}

// NewDeliverer returns a node's Deliverer.
func NewDeliverer(q ports.WebhookQueue, e ports.Events, k Keys, send ports.WebhookSender, egress EgressOf) *Deliverer {
	return &Deliverer{queue: q, events: e, keys: k, send: send, egress: egress, wake: make(chan struct{}, 1),
		working: map[identity.OrgID]int{}}
}

// Wake signals that there may be something to deliver. It does not block.
func (d *Deliverer) Wake() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Run delivers until ctx ends, and then waits for running deliveries. report gets errors of the store.
func (d *Deliverer) Run(ctx context.Context, report func(error)) {
	var running sync.WaitGroup
	defer running.Wait()
	for tick := time.NewTicker(pollEvery); ; {
		n := min(takenAtOnce, endpoints-d.busy())
		batch, err := d.queue.Take(ctx, time.Now(), leaseFor, n, d.full())
		if err != nil && ctx.Err() == nil {
			report(err)
		}
		for i := range batch {
			e := &batch[i]
			d.count(e.Org, 1)
			running.Go(func() {
				defer d.Wake() // there may be more
				defer d.count(e.Org, -1)
				if err := d.Work(ctx, e); err != nil && ctx.Err() == nil {
					report(err)
				}
			})
		}
		if len(batch) == takenAtOnce {
			d.Wake() // there may be more
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		case <-d.wake:
		}
	}
}

func (d *Deliverer) busy() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.total
}

// full returns the orgs that could exceed their share of the node with another take.
func (d *Deliverer) full() (orgs []identity.OrgID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for org, n := range d.working {
		if n+takenAtOnce > endpointsOrg {
			orgs = append(orgs, org)
		}
	}
	return orgs
}

func (d *Deliverer) count(org identity.OrgID, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.total += n
	if d.working[org] += n; d.working[org] == 0 {
		delete(d.working, org)
	}
}

// Work delivers an endpoint's due deliveries, for at most a turn or until stop ends, and ends its lease.
func (d *Deliverer) Work(stop context.Context, e *webhook.Endpoint) (err error) {
	ctx := context.WithoutCancel(stop) // a delivery that has begun is settled
	var next time.Time
	defer func() {
		if errors.Is(err, webhook.ErrNotFound) || errors.Is(err, webhook.ErrLeaseLost) {
			err = nil // it was deleted in the meantime, or another node has it
		}
		err = errors.Join(err, d.queue.Release(ctx, e, next))
	}()
	for start := time.Now(); time.Since(start) < turn && stop.Err() == nil; {
		hasMore, err := d.plan(ctx, e)
		if err != nil {
			return err
		}
		n := atOnce
		if e.IsTriedAlone() {
			n = 1
		}
		due, err := d.queue.Next(ctx, e.ID, time.Now(), n)
		if err != nil {
			return err
		}
		if len(due) == 0 && !hasMore {
			return nil
		}
		if len(due) == 0 {
			continue
		}
		latest, err := d.attempt(ctx, e, due)
		if err != nil {
			return err
		}
		if e = latest; !e.Enabled {
			return nil
		}
		if e.IsTriedAlone() {
			next = due[0].Due // not before: the others would most likely fail too
			return nil
		}
	}
	next = time.Now()
	return nil
}

// plan creates deliveries for new events, unless many are pending. more is true if there were further events.
func (d *Deliverer) plan(ctx context.Context, e *webhook.Endpoint) (hasMore bool, err error) {
	pending, err := d.queue.Pending(ctx, e.ID)
	if err != nil || pending >= pendingMost {
		return false, err
	}
	feed, err := d.events.Feed(ctx, e.Org, e.Workspace, event.FeedQuery{After: e.Place, Limit: readAtOnce})
	if err != nil || feed.Last <= e.Place {
		return false, err
	}
	var all []webhook.Delivery
	for _, item := range feed.Items {
		if e.Gets(item.Type) {
			all = append(all, e.NewDelivery(item, time.Now()))
		}
	}
	if err := d.queue.Queue(ctx, e, all, feed.Last); err != nil {
		return false, err
	}
	e.Place = feed.Last
	return feed.More, nil
}

// attempt sends deliveries, and saves the outcomes.
func (d *Deliverer) attempt(ctx context.Context, e *webhook.Endpoint, due []webhook.Delivery) (*webhook.Endpoint,
	error) {
	target, err := d.keys.target(e, d.egress, time.Now())
	if err != nil {
		return nil, err
	}
	outcomes := d.sendAll(ctx, e, target, due)
	now := time.Now().UTC()
	delivered := outcomes[:0]
	for i := range due {
		if due[i].EventRemoved {
			due[i].Abandon()
			continue
		}
		due[i].Ended(outcomes[i], now, rand.Float64()) //nolint:gosec // jitter
		delivered = append(delivered, outcomes[i])
	}
	by := identity.System(e.Org, e.Workspace, "webhooks", now)
	return d.queue.Settle(ctx, by, e, due, func(e *webhook.Endpoint) []job.Job {
		e.Observe(by, delivered)
		if len(e.Recorded()) == 0 {
			return nil
		}
		return []job.Job{job.New(by, webhook.NoticeJob, string(e.ID), now)}
	})
}

// sendAll sends deliveries at the same time, and renews the lease until all have ended. Settle notices if that failed.
func (d *Deliverer) sendAll(ctx context.Context, e *webhook.Endpoint, target ports.WebhookTarget,
	due []webhook.Delivery) []webhook.Outcome {
	outcomes := make([]webhook.Outcome, len(due))
	var sending sync.WaitGroup
	for i := range due {
		if !due[i].EventRemoved {
			sending.Go(func() { outcomes[i] = d.send.Send(ctx, target, &due[i], time.Now()) })
		}
	}
	finished := make(chan struct{})
	go func() {
		sending.Wait()
		close(finished)
	}()
	tick := time.NewTicker(renewed)
	defer tick.Stop()
	for {
		select {
		case <-finished:
			return outcomes
		case <-tick.C:
			if end, err := d.queue.Renew(ctx, e, leaseFor); err == nil {
				e.LeasedUntil = end
			}
		}
	}
}
