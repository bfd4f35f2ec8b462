package sandbox

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/atrium-hq/atrium/domain/payment"
)

// post lets one goroutine at a time deliver a customer's events. busy has the customers whose events are being
// delivered.
type post struct {
	mu   sync.Mutex
	busy map[payment.CustomerID]*delivery
}

// delivery delivers a customer's events by one goroutine.
type delivery struct {
	repeat bool          // another delivery was requested since it looked for events
	done   chan struct{} // closed when it has ended
}

// begin reports whether the caller must deliver. If not, the current deliverer checks once more, and the caller can
// wait for it.
func (p *post) begin(c payment.CustomerID) (d *delivery, deliver bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d, busy := p.busy[c]; busy {
		d.repeat = true
		return d, false
	}
	d = &delivery{done: make(chan struct{})}
	p.busy[c] = d
	return d, true
}

// end reports whether there is nothing more to deliver.
func (p *post) end(c payment.CustomerID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.busy[c]
	if d.repeat {
		d.repeat = false
		return false
	}
	delete(p.busy, c)
	close(d.done)
	return true
}

// flush delivers a customer's pending events, or waits until another call has. Otherwise parallel calls would overtake
// their events: cards could be tried after the limit of declined cards was reached. Events that cannot be delivered
// stay pending until the next attempt; the call that caused them does not fail.
func (g *Gateway) flush(ctx context.Context, c payment.CustomerID) {
	d, deliver := g.post.begin(c)
	if !deliver {
		select {
		case <-ctx.Done():
		case <-d.done:
		}
		return
	}
	for {
		g.deliverAll(ctx, c)
		if g.post.end(c) {
			return
		}
	}
}

func (g *Gateway) deliverAll(ctx context.Context, c payment.CustomerID) {
	text, err := g.accounts.Read(ctx, g.org, string(c))
	if err != nil {
		return
	}
	b, err := decode(text)
	if err != nil || len(b.Outbox) == 0 {
		return
	}
	s, err := g.settings(ctx)
	if err != nil {
		return
	}
	notices := slices.Clone(b.Outbox)
	if s.Reorder {
		slices.Reverse(notices)
	}
	if s.Duplicate {
		notices = append(notices, notices...)
	}
	finished := map[string]bool{}
	for _, n := range notices {
		if g.send(ctx, c, n) != nil {
			break
		}
		finished[n.ID] = true
	}
	_ = g.accounts.Write(ctx, g.org, string(c), func(text []byte) ([]byte, error) { // else they are sent again
		b, err := decode(text)
		if err != nil {
			return nil, err
		}
		b.Outbox = slices.DeleteFunc(b.Outbox, func(n notice) bool { return finished[n.ID] })
		return encode(b)
	})
}

// send delivers an event in Stripe's format (https://docs.stripe.com/api/events/object): the envelope, and the members
// of the object that identify its customer.
func (g *Gateway) send(ctx context.Context, c payment.CustomerID, n notice) error {
	object := map[string]any{"id": n.About, "object": n.Object}
	if n.Object != "customer" {
		object["customer"] = c
	}
	body, err := json.Marshal(map[string]any{
		"id": n.ID, "object": "event", "type": n.Type, "api_version": "sandbox", "created": n.At.Unix(),
		"livemode":         false,
		"pending_webhooks": 1, "data": map[string]any{"object": object},
	})
	if err != nil {
		return err
	}
	return g.deliver(ctx, g.org, body, payment.Sign(g.WebhookKey(), body, g.clock()))
}
