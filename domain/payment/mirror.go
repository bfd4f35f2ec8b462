package payment

import (
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Look is the state of the mirror when a call of the gateway begins. What the gateway returns is as old as that.
type Look struct {
	revision                       int64
	wallet, subscription, invoices int64 // when each part was read before, in microseconds as it is stored
}

// Look returns the state of c's mirror. Take it before the gateway is called.
func (c *Customer) Look() Look {
	return Look{c.Revision, c.WalletAt.UnixMicro(), c.SubscriptionAt.UnixMicro(), c.InvoicesAt.UnixMicro()}
}

// Seen is what a look at the gateway has found. A part that was not read is nil.
type Seen struct {
	Wallet        *Wallet
	Subscriptions *[]GatewaySubscription // as GatewaySubscriptions.Subscriptions returns them
	Invoices      *[]Invoice             // the newest MirroredInvoices
}

// Mirror updates the mirror with what a look has seen. It is the only way from a read of the gateway into the mirror.
// It returns false and changes nothing if the customer has changed since the look began, or if one of the parts was
// read by another look: what was seen may be older than what the mirror has.
func (c *Customer) Mirror(by identity.Actor, look Look, seen Seen, plans Plans) bool {
	if !c.unchanged(look, seen) {
		return false
	}
	if seen.Wallet != nil {
		c.applyWallet(by, *seen.Wallet)
	}
	if seen.Subscriptions != nil {
		c.applySubscriptions(by, *seen.Subscriptions, plans)
	}
	if seen.Invoices != nil {
		c.Invoices, c.AllDrafts = *seen.Invoices, true // other drafts were deleted at the gateway
		c.InvoicesAt = by.At
	}
	c.countUsage(c.Invoices)
	return true
}

// unchanged reports whether nothing was stored since a look that could be newer than what it has seen.
func (c *Customer) unchanged(look Look, seen Seen) bool {
	now := c.Look()
	return now.revision == look.revision &&
		(seen.Wallet == nil || now.wallet == look.wallet) &&
		(seen.Subscriptions == nil || now.subscription == look.subscription) &&
		(seen.Invoices == nil || now.invoices == look.invoices)
}

// applyWallet updates the mirror with the gateway's payment methods. While a change is in progress, the gateway may
// have the default from before it, so the mirror keeps its own, and the wallet has to be read again.
func (c *Customer) applyWallet(by identity.Actor, w Wallet) {
	if c.Settled() {
		c.WalletAt = by.At
	} else {
		w.Default = c.Default
	}
	known := map[MethodID]Method{}
	for _, m := range c.Methods {
		known[m.ID] = m
	}
	var now []Method
	for _, m := range w.Methods {
		previous, exists := known[m.ID]
		delete(known, m.ID)
		m.Detaching = previous.Detaching
		now = append(now, m)
		if !exists {
			c.confirmIntent()
			c.Record(by, "payment_method.added", string(m.ID),
				map[string]any{"type": m.Type, "brand": m.Brand, "last4": m.Last4})
		}
	}
	for id, m := range known {
		if !m.Detaching { // the removal of leaving ones is recorded already
			c.Record(by, "payment_method.removed", string(id), nil)
		}
	}
	slices.SortFunc(now, newestFirst)
	def := w.Default
	if i := slices.IndexFunc(now, func(m Method) bool { return m.ID == def }); i < 0 || now[i].Detaching {
		def = ""
	}
	if !slices.Equal(now, c.Methods) || def != c.Default || w.Credit != c.Credit {
		c.Methods, c.Default, c.Credit = now, def, w.Credit
		c.touch(by)
	}
}

// Differences returns how the mirror and what a look has seen differ, as the events that would report it. It changes
// nothing. current is that of Mirror.
func (c *Customer) Differences(
	by identity.Actor, look Look, seen Seen, plans Plans,
) (different []event.Event, current bool) {
	now := c.copied()
	if !now.Mirror(by, look, seen, plans) {
		return nil, false
	}
	different = now.Recorded()
	if now.Default != c.Default && !slices.ContainsFunc(different, isAboutMethod) {
		now.Record(by, "payment_method.default_changed", string(now.Default),
			map[string]any{"default": event.Change{From: event.ID(c.Default), To: event.ID(now.Default)}})
	}
	return now.Recorded(), true
}

// Agrees reports whether the mirror has what a look has seen of the wallet and the subscriptions, whenever that was. It
// does not compare invoices.
func (c *Customer) Agrees(by identity.Actor, seen Seen, plans Plans) bool {
	now := c.copied()
	now.Mirror(by, now.Look(), seen, plans)
	return seen.Invoices == nil && now.Revision == c.Revision
}

// copied returns a copy of c that can be mirrored without a change of c.
func (c *Customer) copied() *Customer {
	now := *c
	now.Log = event.Log{}
	now.Methods = slices.Clone(c.Methods)
	if c.Subscription != nil {
		s := *c.Subscription
		now.Subscription = &s
	}
	return &now
}

func isAboutMethod(e event.Event) bool {
	return strings.HasPrefix(e.Type, "payment_method.")
}
