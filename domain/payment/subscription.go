package payment

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Status is a subscription's status.
type Status string

// The statuses. Canceled and IncompleteExpired subscriptions have ended; all others are live.
const (
	Incomplete        Status = "incomplete" // the first payment waits for the payer
	Trialing          Status = "trialing"
	Active            Status = "active"
	PastDue           Status = "past_due" // a renewal failed and is retried
	Unpaid            Status = "unpaid"   // a renewal failed and is not retried
	Paused            Status = "paused"
	Canceled          Status = "canceled"
	IncompleteExpired Status = "incomplete_expired"
)

// Live reports whether a subscription has not ended.
func (s Status) Live() bool { return s != Canceled && s != IncompleteExpired && s != "" }

// Subscription is what a workspace pays for.
type Subscription struct {
	ID                SubscriptionID
	Item              SoldItem
	Items             []Item // all, by their prices and without their periods; nil if they are not stored yet
	Plan              PlanID // "" if it is unknown, as GatewaySubscription.Resolve says
	Quantity          int
	Status            Status
	Key               string // of the call that created it
	Code              string // the promotion code that was used last, or ""
	Discount          *Discount
	PeriodStart       time.Time
	PeriodEnd         time.Time
	TrialEnd          time.Time // zero without a trial
	CancelAtPeriodEnd bool
	EndsAt            time.Time    // when it is set to end, at the end of this period or later; zero if it continues
	Cancellation      Cancellation // why it is, or was, cancelled
	Paused            bool         // its periods cost nothing
	PaidUntil         time.Time    // the end of what was paid before the pause; zero without one
	Pending           *PendingChange
	Confirming        bool // a change waits for the payer to authenticate its payment
	CreatedAt         time.Time
	EndedAt           time.Time // when Atrium noticed the end; zero while it is live

	// PastDueSince is when the first unpaid renewal failed; zero if every renewal is paid.
	PastDueSince time.Time
}

// SoldItem is a subscription's item for the plan, and what pays for it.
type SoldItem struct {
	ID   ItemID `json:"id"`
	Rate Rate   `json:"rate"` // that is paid, which may no longer be the plan's

	// Meter is the metered price by which the subscription is billed, which may no longer be the plan's; "" without
	// one.
	Meter string `json:"meter,omitempty"`

	// Method is charged for this subscription only; "" if the customer's default is.
	Method MethodID `json:"method,omitempty"`

	// Unrecognized reports that no item clearly belongs to a plan, so that the subscription cannot be changed.
	Unrecognized bool `json:"unrecognized,omitempty"`

	// Dropped is what was to change at the renewal before the subscription was cancelled at the end of its period.
	Dropped NextTerms `json:"dropped,omitzero"`

	// Of an unrecognized one, Prices names the prices of all its items, for the operator, and Plan is the plan of Rate.
	Prices string `json:"prices,omitempty"`
	Plan   PlanID `json:"plan,omitempty"`
}

// PendingChange is what changes when the period ends.
type PendingChange struct {
	Plan      PlanID
	Quantity  int
	At        time.Time
	Elsewhere bool // someone has scheduled it at the gateway, without Atrium

	Next *PendingChange // what changes after it; nil for the last change
}

// equal compares changes and what comes after them. Both can be nil.
func (p *PendingChange) equal(o *PendingChange) bool {
	if p == nil || o == nil {
		return p == o
	}
	a, b := *p, *o
	a.Next, b.Next = nil, nil
	return a == b && p.Next.equal(o.Next)
}

// Entitled reports whether the workspace may use what it subscribed to: while the subscription is
// active or on trial, and for a grace after a renewal has failed. A new period during the grace does
// not extend it. A paused subscription entitles until the end of what was paid.
func (s *Subscription) Entitled(now time.Time, grace time.Duration) bool {
	if s.Paused && !now.Before(s.PaidUntil) {
		return false
	}
	switch s.Status {
	case Active, Trialing:
		return true
	case PastDue:
		start := s.PastDueSince
		if start.IsZero() {
			start = s.PeriodStart
		}
		return now.Before(start.Add(grace))
	}
	return false
}

// setUnpaidSince sets since when s is unpaid, given its previous state. moment is the time at the gateway: no one can
// act on a failure before it is seen, which for a direct debit is days after the period began.
func (s *Subscription) setUnpaidSince(previous *Subscription, moment time.Time) {
	switch {
	case s.Status != PastDue && s.Status != Unpaid:
		s.PastDueSince = time.Time{}
	case previous != nil && previous.ID == s.ID && !previous.PastDueSince.IsZero():
		s.PastDueSince = previous.PastDueSince
	default:
		s.PastDueSince = latest(s.PeriodStart, moment) // a clock behind the gateway's gives an earlier one
	}
}

// NeedsAction reports whether the payer may have to act: to pay for the first time, for a change or for a renewal, or
// to add a method before the trial ends.
func (s *Subscription) NeedsAction() bool {
	return s.Status == Incomplete || s.Status == Trialing || s.Status == PastDue || s.Confirming
}

// equal compares the fields that come from the gateway.
func (s *Subscription) equal(o *Subscription) bool {
	a, b := *s, *o
	samePending := a.Pending.equal(b.Pending)
	sameOff := sameDiscount(a.Discount, b.Discount)
	a.Pending, b.Pending, a.Discount, b.Discount = nil, nil, nil, nil
	a.Item = b.Item                       // of which no event tells
	if s.Items == nil || o.Items == nil { // one of them is not stored yet
		a.Items, b.Items = nil, nil
	}
	return samePending && sameOff && reflect.DeepEqual(a, b)
}

// subscription returns h as it is mirrored, given its previous state.
func (h GatewaySubscription) subscription(plans Plans, previous *Subscription) *Subscription {
	var old Subscription
	if previous != nil && previous.ID == h.ID {
		old = *previous
	}
	stored := cmp.Or(old.Plan, old.Item.Plan)
	h.Resolve(plans, old.Item.Rate.Ref, stored)
	if h.isUnrecognized() {
		h.Quantity = old.Quantity
	}
	return &Subscription{
		ID: h.ID, Plan: h.Plan, Quantity: h.Quantity, Status: h.Status, Key: h.Key, PeriodStart: h.PeriodStart,
		PeriodEnd: h.PeriodEnd, EndsAt: h.EndsAt,
		Item:     h.soldItem(plans, old.Item, stored),
		Items:    h.mirroredItems(),
		TrialEnd: h.TrialEnd, CancelAtPeriodEnd: h.CancelAtPeriodEnd, Pending: h.Pending, Confirming: h.Confirming,
		Code: h.Code, Discount: h.Discount, CreatedAt: h.CreatedAt,
		Cancellation: h.Cancellation, Paused: h.Paused, PaidUntil: h.PaidUntil,
	}
}

// applySubscriptions updates the mirror with the gateway's subscriptions, as they were at a time at the gateway. If
// several are live, which Atrium never causes, the first by precedence counts, the others are Surplus, and an event
// records them.
func (c *Customer) applySubscriptions(
	by identity.Actor, moment time.Time, subscriptions []GatewaySubscription, plans Plans,
) {
	c.SubscriptionAt = by.At
	var current *Subscription
	var live []SubscriptionID
	for _, h := range slices.SortedFunc(slices.Values(subscriptions), precedence) {
		if h.Status.Live() {
			live = append(live, h.ID)
			if current == nil {
				current = h.subscription(plans, c.Subscription)
			}
		}
		c.HadTrial = c.HadTrial || !h.TrialEnd.IsZero()
	}
	c.applySurplus(by, current, live)
	previous := c.Subscription
	if current != nil {
		current.setUnpaidSince(previous, moment)
		current.pause(previous)
	}
	switch {
	case previous == nil && current == nil:
		return
	case previous != nil && current != nil && previous.ID == current.ID:
		if previous.equal(current) {
			if previous.Item != current.Item || (previous.Items == nil && current.Items != nil) {
				previous.Item, previous.Items = current.Item, current.Items
				c.touch(by)
			}
			return
		}
		c.Subscription = current
		c.Record(by, "subscription.changed", string(current.ID), current.difference(previous))
	default:
		if previous != nil && !slices.Contains(c.Surplus, previous.ID) {
			previous.Cancellation = c.cancelledFor(subscriptions)
			c.end(by)
		}
		if c.Subscription = current; current != nil {
			c.Record(by, "subscription.started", string(current.ID), map[string]any{
				"plan_id": current.Plan, "quantity": current.Quantity, "status": current.Status,
				"current_period_end": current.PeriodEnd,
			})
		}
	}
	c.InvoicesAt = time.Time{} // there may be a new invoice
	c.touch(by)
}

// precedence sorts a customer's subscriptions: what entitles counts before what may become paid again, what was given
// up, and what waits for its first payment; of these, the oldest.
func precedence(a, b GatewaySubscription) int {
	rank := func(s Status) int {
		return slices.Index([]Status{PastDue, Unpaid, Paused, Incomplete}, s) // -1 for what entitles
	}
	return cmp.Or(cmp.Compare(rank(a.Status), rank(b.Status)), a.CreatedAt.Compare(b.CreatedAt),
		cmp.Compare(a.ID, b.ID))
}

// applySurplus updates which subscriptions are live in addition to the one that counts.
func (c *Customer) applySurplus(by identity.Actor, counts *Subscription, live []SubscriptionID) {
	surplus := slices.DeleteFunc(live, func(id SubscriptionID) bool { return counts == nil || id == counts.ID })
	if slices.Equal(surplus, c.Surplus) {
		return
	}
	if len(surplus) > len(c.Surplus) {
		c.Record(by, "subscription.duplicated", string(counts.ID), map[string]any{"also": surplus})
	}
	c.Surplus = surplus
	c.touch(by)
}

// end marks the live subscription as ended.
func (c *Customer) end(by identity.Actor) {
	c.Ended = c.Subscription
	c.Ended.Status, c.Ended.EndedAt = Canceled, by.At
	c.Subscription = nil
	data := c.Ended.Cancellation.note(map[string]any{"plan_id": c.Ended.Plan})
	c.Record(by, "subscription.ended", string(c.Ended.ID), data)
}

// difference returns the fields of s that differ from was.
func (s *Subscription) difference(previous *Subscription) map[string]any {
	data := map[string]any{}
	note := func(name string, from, to any) {
		if from != to {
			data[name] = event.Change{From: from, To: to}
		}
	}
	note("plan_id", event.ID(previous.Plan), event.ID(s.Plan))
	note("quantity", previous.Quantity, s.Quantity)
	note("status", previous.Status, s.Status)
	note("cancel_at_period_end", previous.CancelAtPeriodEnd, s.CancelAtPeriodEnd)
	if !s.EndsAt.Equal(previous.EndsAt) {
		data["ends_at"] = event.Change{From: event.Time(previous.EndsAt), To: event.Time(s.EndsAt)}
	}
	note("current_period_end", previous.PeriodEnd, s.PeriodEnd)
	note("confirming", previous.Confirming, s.Confirming)
	note("paused", previous.Paused, s.Paused)
	note("cancellation_feedback", previous.Cancellation.Feedback, s.Cancellation.Feedback)
	if previous.Items != nil && !slices.Equal(previous.Items, s.Items) {
		data["items"] = true
	}
	note("discount_id", previous.Discount.id(), s.Discount.id())
	if s.Pending != nil {
		note("pending_plan_id", nil, event.ID(s.Pending.Plan))
	}
	return data
}
