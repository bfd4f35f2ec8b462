package payment

import (
	"slices"
	"strings"
	"time"

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
	At            time.Time // at the gateway, when it was read; zero if that is the local time
	Wallet        *Wallet
	Subscriptions *[]GatewaySubscription // as GatewaySubscriptions.Subscriptions returns them
	Invoices      *[]Invoice             // the newest MirroredInvoices, or more
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
		moment := seen.At
		if moment.IsZero() {
			moment = by.At
		}
		c.applySubscriptions(by, moment, *seen.Subscriptions, plans)
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
	current := c.Look()
	return current.revision == look.revision &&
		(seen.Wallet == nil || current.wallet == look.wallet) &&
		(seen.Subscriptions == nil || current.subscription == look.subscription) &&
		(seen.Invoices == nil || current.invoices == look.invoices)
}

// applyWallet updates the mirror with the gateway's payment methods. While a change is in progress, the gateway may
// have the default from before it, so the mirror keeps its own, and the wallet has to be read again.
func (c *Customer) applyWallet(by identity.Actor, w Wallet) {
	if c.Settled() {
		c.WalletAt = by.At
	} else {
		w.Default = c.Default
	}
	methods := map[MethodID]Method{}
	for _, m := range c.Methods {
		methods[m.ID] = m
	}
	var mirrored []Method
	for _, m := range w.Methods {
		previous, exists := methods[m.ID]
		delete(methods, m.ID)
		m.Detaching = previous.Detaching
		mirrored = append(mirrored, m)
		if !exists {
			c.confirmIntent()
			c.Record(by, "payment_method.added", string(m.ID),
				map[string]any{"type": m.Type, "brand": m.Brand, "last4": m.Last4})
		}
	}
	for id, m := range methods {
		if !m.Detaching { // the removal of leaving ones is recorded already
			c.Record(by, "payment_method.removed", string(id), nil)
		}
	}
	slices.SortFunc(mirrored, newestFirst)
	def := w.Default
	if i := slices.IndexFunc(mirrored, func(m Method) bool { return m.ID == def }); i < 0 || mirrored[i].Detaching {
		def = ""
	}
	if !slices.Equal(mirrored, c.Methods) || def != c.Default || w.Credit != c.Credit {
		c.Methods, c.Default, c.Credit = mirrored, def, w.Credit
		c.touch(by)
	}
}

// Differences returns how the mirror and what a look has seen differ, as the events that would report it. It changes
// nothing. current is the subscription of Mirror.
func (c *Customer) Differences(
	by identity.Actor, look Look, seen Seen, plans Plans,
) (different []event.Event, current bool) {
	next := c.copied()
	if !next.Mirror(by, look, seen, plans) {
		return nil, false
	}
	different = next.Recorded()
	from, to := c.DefaultID(), next.DefaultID()
	if from != to && !slices.ContainsFunc(different, isAboutMethod) {
		next.Record(by, "payment_method.default_changed", string(to),
			map[string]any{"default": event.Change{From: event.ID(from), To: event.ID(to)}})
	}
	return next.Recorded(), true
}

// Agrees reports whether the mirror has what a look has seen of the wallet and the subscriptions, whenever that was. It
// does not compare invoices.
func (c *Customer) Agrees(by identity.Actor, seen Seen, plans Plans) bool {
	current := c.copied()
	current.Mirror(by, current.Look(), seen, plans)
	return seen.Invoices == nil && current.Revision == c.Revision
}

// copied returns a copy of c that can be mirrored without a change of c.
func (c *Customer) copied() *Customer {
	next := *c
	next.Log = event.Log{}
	next.Methods = slices.Clone(c.Methods)
	if c.Subscription != nil {
		s := *c.Subscription
		next.Subscription = &s
	}
	return &next
}

func isAboutMethod(e event.Event) bool {
	return strings.HasPrefix(e.Type, "payment_method.")
}
