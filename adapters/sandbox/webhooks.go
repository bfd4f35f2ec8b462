package sandbox

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/atrium-hq/atrium/domain/billing"
)

// post lets one goroutine at a time deliver the events of a customer. busy has the customers whose events are
// being delivered; its value is true if another delivery was requested since.
type post struct {
	mu   sync.Mutex
	busy map[billing.CustomerID]bool
}

// begin reports whether the caller must deliver. If not, the current deliverer checks once more.
func (p *post) begin(c billing.CustomerID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, busy := p.busy[c]; busy {
		p.busy[c] = true
		return false
	}
	p.busy[c] = false
	return true
}

// end reports whether there is nothing more to deliver.
func (p *post) end(c billing.CustomerID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy[c] {
		p.busy[c] = false
		return false
	}
	delete(p.busy, c)
	return true
}

// flush delivers the pending events of a customer. Events that cannot be delivered stay pending until the
// next attempt; the call that caused them does not fail.
func (g *Gateway) flush(ctx context.Context, c billing.CustomerID) {
	if !g.post.begin(c) {
		return
	}
	for {
		g.deliverAll(ctx, c)
		if g.post.end(c) {
			return
		}
	}
}

func (g *Gateway) deliverAll(ctx context.Context, c billing.CustomerID) {
	text, err := g.books.Read(ctx, g.org, string(c))
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
	done := map[string]bool{}
	for _, n := range notices {
		if g.send(ctx, c, n) != nil {
			break
		}
		done[n.ID] = true
	}
	_ = g.books.Write(ctx, g.org, string(c), func(text []byte) ([]byte, error) { // else they come again
		b, err := decode(text)
		if err != nil {
			return nil, err
		}
		b.Outbox = slices.DeleteFunc(b.Outbox, func(n notice) bool { return done[n.ID] })
		return json.Marshal(b)
	})
}

// send delivers an event in the shape of Stripe's (https://docs.stripe.com/api/events/object): its
// envelope, and of the object what tells whose it is.
func (g *Gateway) send(ctx context.Context, c billing.CustomerID, n notice) error {
	object := map[string]any{"id": n.About, "object": n.Object}
	if n.Object != "customer" {
		object["customer"] = c
	}
	body, err := json.Marshal(map[string]any{
		"id": n.ID, "object": "event", "type": n.Type, "api_version": "sandbox", "created": n.At.Unix(), "livemode": false,
		"pending_webhooks": 1, "data": map[string]any{"object": object},
	})
	if err != nil {
		return err
	}
	return g.deliver(ctx, g.org, body, billing.Sign(g.WebhookKey(), body, g.clock()))
}
