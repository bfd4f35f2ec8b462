package sandbox

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/atrium-hq/atrium/domain/billing"
)

// flush delivers what a customer's book has to tell. What cannot be delivered stays in it until it is
// looked at again; it is no failure of the call that caused it.
func (g *Gateway) flush(ctx context.Context, c billing.CustomerID) {
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
