package payment

import (
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
)

// MeteredPrice is what a plan costs per unit of a feature's usage, in addition to its price. Usage is billed when the
// period ends.
type MeteredPrice struct {
	Feature string `json:"feature"` // as applications report it
	Amount  int64  `json:"amount"`  // per unit, in the minor unit of the plan's currency

	// PriceRef is the gateway's id of the price. The sandbox needs none.
	PriceRef string `json:"price_ref,omitempty"`
}

// InvoiceLine is one line of an invoice.
type InvoiceLine struct {
	Description string    `json:"description"`
	Quantity    int64     `json:"quantity"`
	Amount      int64     `json:"amount"` // before discounts, in the minor unit of the invoice's currency
	Start       time.Time `json:"start,omitzero"`
	End         time.Time `json:"end,omitzero"`
}

// UsageEvent is reported usage that the gateway bills.
type UsageEvent struct {
	ID       string // the gateway counts events with the same ID once, within a day
	Account  string // at the gateway
	Customer CustomerID
	Feature  string
	PriceRef string // the metered price, at the gateway
	Quantity int64
	At       time.Time // at the gateway

	// TriedAt is when the event was first sent without a known outcome; zero if it was not.
	TriedAt time.Time
}

// UsageJob sends a customer's usage events to the gateway. Its subject is the customer at the gateway.
const UsageJob job.Kind = "payment.usage"

// Times of usage events.
const (
	// usageLasts is the maximum age of usage when the gateway gets it.
	usageLasts = 34 * 24 * time.Hour

	// usageRepeatable is the time within which an event can be sent again after a call with an unknown outcome: after
	// that the gateway may count it twice.
	usageRepeatable = 23 * time.Hour
)

// Sendable reports whether the gateway still counts e, and counts it once. c is the workspace's customer.
func (e *UsageEvent) Sendable(now, atGateway time.Time, c *Customer) bool {
	return e.Customer == c.ID && atGateway.Sub(e.At) < usageLasts &&
		(e.TriedAt.IsZero() || now.Sub(e.TriedAt) < usageRepeatable)
}

// LoseUsage records that an event can no longer be sent to the gateway.
func (c *Customer) LoseUsage(by identity.Actor, e *UsageEvent) {
	c.Record(by, "usage.not_billed", e.ID, map[string]any{"feature": e.Feature, "quantity": e.Quantity, "at": e.At})
}

// Metering returns the metered price by which a feature's usage is billed to a subscription; nil if it is not billed.
// Usage during a trial is free.
func (p Plans) Metering(s *Subscription, feature string) *MeteredPrice {
	if s == nil || !s.Status.Live() || s.Status == Incomplete || s.Status == Trialing {
		return nil
	}
	if m := p.MeterOf(s); m != nil && m.Feature == feature {
		return m
	}
	return nil
}

// MeterOf returns the metered price by which a subscription is billed; nil if it is not billed by usage. It is the
// price of the subscription's item, whatever its plan, which can be unknown; else the price of its plan, which may be
// another one now.
func (p Plans) MeterOf(s *Subscription) *MeteredPrice {
	if s == nil {
		return nil
	}
	for i := range p {
		if m := p[i].Metered; m != nil && m.PriceRef != "" && m.PriceRef == s.Item.Meter {
			return m
		}
	}
	if plan, err := p.Find(s.Plan); err == nil {
		return plan.Metered
	}
	return nil
}
