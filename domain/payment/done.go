package payment

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// DoneCall is a change of the subscription that was made, its cancellation, or a purchase of credit packs. It answers a
// repetition whose first response was lost: the subscription is not what it was before, so that the request would be
// refused now.
type DoneCall struct {
	Key     string    `json:"key"`               // of the call
	Request string    `json:"request,omitempty"` // as Changes.request returns it
	At      time.Time `json:"at"`                // when the call began
}

const (
	doneLasts = 24 * time.Hour // as long as an Idempotency-Key
	knownFor  = 23 * time.Hour // an older operation ends without a known outcome: gateways forget keys within a day
	doneKept  = 10             // the newest; a repetition comes soon
)

// HasDone reports whether the call under key was made, or one with the same preview and the same changes.
func (c *Customer) HasDone(now time.Time, key string, ch Changes) bool {
	request := ch.request()
	return slices.ContainsFunc(c.Done, func(d DoneCall) bool {
		return now.Before(d.At.Add(doneLasts)) && (d.Key == key || (request != "" && d.Request == request))
	})
}

// finish adds an operation to what was done.
func (c *Customer) finish(op *Operation, now time.Time) {
	// Others are found by the subscription's key, or the paid invoice.
	if (op.Kind != Change && op.Kind != Cancel && op.Kind != Buy) || now.Sub(op.At) > knownFor {
		return
	}
	calls := slices.DeleteFunc(slices.Clone(c.Done), func(d DoneCall) bool { return !now.Before(d.At.Add(doneLasts)) })
	calls = append(calls, DoneCall{Key: op.Key, Request: op.Request, At: op.At})
	c.Done = calls[max(0, len(calls)-doneKept):]
}

// request identifies changes with a preview; "" without one: the same changes can be meant again.
func (ch Changes) request() string {
	if ch.Preview == "" {
		return ""
	}
	ch.Offer, ch.Promotion = nil, nil // both follow from the rest
	text, err := json.Marshal(ch)
	if err != nil { // the fields always encode
		panic(err)
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Settle ends a key's operation, and updates the mirror with the gateway's state after it, which is as old as a look.
// It returns false, and changes nothing, if the mirror has changed since: then the subscriptions must be read again. If
// the operation is settled already, it changes nothing either.
func (c *Customer) Settle(by identity.Actor, key string, from Look, subscriptions []GatewaySubscription,
	plans Plans) bool {
	if c.Pending == nil || c.Pending.Key != key {
		return true
	}
	if !c.unchanged(from, Seen{Subscriptions: &subscriptions}) {
		return false
	}
	op := c.Pending
	c.Pending = nil
	c.finish(op, by.At)
	c.recordAdjustment(by, op)
	c.touch(by)
	if op.Kind == Subscribe && op.Method != "" && c.method(op.Method) != nil {
		c.Default = op.Method
	}
	if op.Kind == Cancel && op.Cancellation != nil && c.Subscription != nil {
		c.Subscription.Cancellation = *op.Cancellation
	}
	c.applySubscriptions(by, by.At, subscriptions, plans)
	if s := c.Subscription; s != nil && s.CancelAtPeriodEnd && op.Drops != (NextTerms{}) {
		s.Item.Dropped = op.Drops
	}
	c.countUsage(nil)
	c.InvoicesAt = time.Time{} // a read before the operation's end may have missed an invoice, or what became of one
	return true
}

// Abandon ends a key's operation that had no effect at the gateway. Subscriptions and invoices must be read again: a
// look during the operation may have seen what was undone.
func (c *Customer) Abandon(by identity.Actor, key string, reason string) (isAbandoned bool) {
	if c.Pending == nil || c.Pending.Key != key {
		return false
	}
	c.Record(by, "subscription.request_failed", string(c.ID), map[string]any{"kind": c.Pending.Kind, "code": reason})
	c.Pending, c.SubscriptionAt, c.InvoicesAt = nil, time.Time{}, time.Time{}
	c.touch(by)
	return true
}
