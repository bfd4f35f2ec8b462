package payment

import (
	"cmp"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Method is a payment method as it is shown: of a card only the last four digits.
type Method struct {
	ID       MethodID
	Type     string // card, sepa_debit, …
	Brand    string
	Last4    string
	ExpMonth int // 0 if it does not expire
	ExpYear  int
	// Fingerprint identifies a card at all customers of the gateway's account; "" if unknown.
	Fingerprint string

	Country string // ISO 3166-1 alpha-2, of the issuer; "" if unknown

	// Detaching reports that the gateway is about to remove it; it no longer counts as a method.
	Detaching bool

	CreatedAt time.Time
}

// Expired reports whether m can no longer be charged: a card is valid until its month has ended in
// every time zone, twelve hours after it ends in UTC.
func (m *Method) Expired(now time.Time) bool {
	if m.ExpYear == 0 {
		return false
	}
	return !now.Before(time.Date(m.ExpYear, time.Month(m.ExpMonth), 1, 12, 0, 0, 0, time.UTC).AddDate(0, 1, 0))
}

// Shown returns the payment methods, newest first.
func (c *Customer) Shown() []Method {
	methods := slices.DeleteFunc(slices.Clone(c.Methods), func(m Method) bool { return m.Detaching })
	slices.SortFunc(methods, newestFirst)
	return methods
}

func newestFirst(a, b Method) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
}

// DefaultMethod returns the only method that the gateway charges automatically, or nil: the subscription's own, which a
// payer chooses on a checkout page, before the customer's
// (https://docs.stripe.com/api/subscriptions/object#subscription_object-default_payment_method).
func (c *Customer) DefaultMethod() *Method {
	if m := c.method(c.ownMethod()); m != nil {
		return m
	}
	return c.method(c.Default)
}

// DefaultID returns the id of DefaultMethod, or "".
func (c *Customer) DefaultID() MethodID {
	if m := c.DefaultMethod(); m != nil {
		return m.ID
	}
	return ""
}

// ownMethod returns the subscription's own method, even if it is not mirrored yet; "" if the customer's default pays.
func (c *Customer) ownMethod() MethodID {
	if c.Subscription == nil {
		return ""
	}
	return c.Subscription.Item.Method
}

// setDefault makes a method the default of the customer and of its subscription, as gateways do, and reports whether
// one of them had another.
func (c *Customer) setDefault(id MethodID) bool {
	current := c.ownMethod()
	if c.Default == id && (current == "" || current == id) {
		return false
	}
	if c.Default = id; current != "" {
		c.Subscription.Item.Method = id
	}
	return true
}

// MissingDefault returns the method to make the customer's default if the gateway has none: the subscription's own,
// else the newest valid one. Nil if there is a default, or no method to charge.
func (c *Customer) MissingDefault(now time.Time) *Method {
	if c.method(c.Default) != nil {
		return nil
	}
	if id := c.ownMethod(); id != "" {
		if m := c.method(id); m != nil && !m.Expired(now) {
			return m
		}
		return nil
	}
	return c.newestValid(now, "")
}

// newestValid returns the newest method that can be charged, except one.
func (c *Customer) newestValid(now time.Time, but MethodID) *Method {
	for _, m := range c.Shown() {
		if m.ID != but && !m.Expired(now) {
			return &m
		}
	}
	return nil
}

// method returns a method that is not being removed, or nil.
func (c *Customer) method(id MethodID) *Method {
	for i := range c.Methods {
		if m := &c.Methods[i]; m.ID == id && id != "" && !m.Detaching {
			return m
		}
	}
	return nil
}

// Chargeable returns a method of the customer that can be charged, or ErrMethodNotFound or
// ErrMethodExpired. now is the time at the gateway, as for Remove and SetDefault.
func (c *Customer) Chargeable(by identity.Actor, now time.Time, id MethodID) (*Method, error) {
	if err := c.allow(by); err != nil {
		return nil, err
	}
	m := c.method(id)
	switch {
	case m == nil:
		return nil, ErrMethodNotFound
	case m.Expired(now):
		return nil, ErrMethodExpired
	}
	return m, nil
}

// Remove marks a method as leaving before the gateway is called: of two concurrent removals, one sees
// the other's. If the method is the default, replacement becomes the default, or the newest valid one
// if replacement is empty. next is the method that the gateway must make the default first; "" for
// none. ErrMethodInUse if it is the last valid one and will be charged. Removing a leaving
// method again is not an error.
func (c *Customer) Remove(by identity.Actor, now time.Time, id, replacement MethodID) (next MethodID, err error) {
	if err := c.allow(by); err != nil {
		return "", err
	}
	i := slices.IndexFunc(c.Methods, func(m Method) bool { return m.ID == id })
	if i < 0 {
		return "", ErrMethodNotFound
	}
	if replacement != "" {
		if replacement == id {
			return "", ErrMethodNotFound
		}
		if _, err := c.Chargeable(by, now, replacement); err != nil {
			return "", err
		}
	}
	if c.Methods[i].Detaching {
		return c.DefaultID(), nil
	}
	other := c.newestValid(now, id)
	if other == nil && c.charged() && !c.Methods[i].Expired(now) {
		return "", ErrMethodInUse
	}
	changesDefault := c.Default == id || c.ownMethod() == id || c.DefaultMethod() == nil || replacement != ""
	c.Methods[i].Detaching = true
	c.Record(by, "payment_method.removed", string(id), nil)
	remaining := c.DefaultMethod() // the customer's, if the subscription's own is removed, and the other way round
	switch {
	case !changesDefault:
		c.touch(by)
		return "", nil
	case replacement != "":
		next = replacement
	case remaining != nil && !remaining.Expired(now):
		next = remaining.ID
	case other != nil:
		next = other.ID
	}
	c.setDefault(next)
	c.touch(by)
	return next, nil
}

// charged reports whether the customer is, or is about to be, charged for something.
func (c *Customer) charged() bool {
	s := c.Subscription
	switch {
	case c.Pending != nil && c.Pending.Kind != Cancel:
		return true
	case s == nil:
		return false
	}
	isPaidUp := s.Status == Active || s.Status == Trialing || s.Status == Paused
	return !s.CancelAtPeriodEnd || !isPaidUp || s.Item.Meter != "" || len(c.Surplus) > 0
}

// Duplicate is a payment method that a newer one of the same card replaces.
type Duplicate struct {
	Method      MethodID
	Replacement MethodID // the default instead of Method; "" if Method is not the default
}

// Duplicates returns the methods with the fingerprint of a newer one: a payer who enters a card again has one card. It
// returns none while an outcome is unknown, or while a payment that has begun waits for the payer.
func (c *Customer) Duplicates() (all []Duplicate) {
	s := c.Subscription
	if !c.Settled() || (s != nil && (s.Status == Incomplete || s.Confirming)) {
		return nil
	}
	newest := map[string]MethodID{}
	for _, m := range c.Shown() {
		first := newest[m.Fingerprint]
		switch {
		case m.Fingerprint == "":
		case first == "":
			newest[m.Fingerprint] = m.ID
		case m.ID == c.Default || m.ID == c.ownMethod():
			all = append(all, Duplicate{m.ID, first})
		default:
			all = append(all, Duplicate{Method: m.ID})
		}
	}
	return all
}

// Removed deletes a method that the gateway has removed.
func (c *Customer) Removed(by identity.Actor, id MethodID) {
	count := len(c.Methods)
	c.Methods = slices.DeleteFunc(c.Methods, func(m Method) bool { return m.ID == id && m.Detaching })
	if len(c.Methods) != count {
		c.touch(by)
	}
}

// RestoreMethod restores a method that the gateway refused to remove. Whether another method became the default is not
// known then, so the wallet must be read again.
func (c *Customer) RestoreMethod(by identity.Actor, id MethodID) {
	for i := range c.Methods {
		if m := &c.Methods[i]; m.ID == id && m.Detaching {
			m.Detaching, c.WalletAt = false, time.Time{}
			c.touch(by)
		}
	}
}

// Detaching returns the methods that the gateway has yet to remove.
func (c *Customer) Detaching() []MethodID {
	var ids []MethodID
	for _, m := range c.Methods {
		if m.Detaching {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// SetDefault records the gateway's new default, after a call that began at a look. If the customer has changed since,
// the gateway may have the default of another call, and the mirror must be read again.
func (c *Customer) SetDefault(by identity.Actor, now time.Time, from Look, id MethodID) error {
	if _, err := c.Chargeable(by, now, id); err != nil {
		return err
	}
	if c.Revision != from.revision {
		c.WalletAt, c.SubscriptionAt = time.Time{}, time.Time{}
	}
	if previous := c.DefaultID(); previous != id {
		c.Record(by, "payment_method.default_changed", string(id),
			map[string]any{"default": event.Change{From: event.ID(previous), To: id}})
	}
	if c.setDefault(id) {
		c.touch(by)
	}
	return nil
}
