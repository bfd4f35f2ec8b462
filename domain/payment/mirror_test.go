package payment_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestWhatMayBeOlderThanTheMirrorIsNotMirrored(t *testing.T) {
	value := after(owner, time.Second)
	parts := map[string]payment.Seen{
		"payment methods": {Wallet: new(payment.Wallet)},
		"subscriptions":   {Subscriptions: new([]payment.GatewaySubscription)},
		"invoices":        {Invoices: new([]payment.Invoice)},
	}
	readAt := func(c *payment.Customer) [3]time.Time {
		return [3]time.Time{c.WalletAt, c.SubscriptionAt, c.InvoicesAt}
	}
	for name, seen := range parts {
		t.Run(name+" are mirrored if nothing was stored since they were read", func(t *testing.T) {
			c := active("basic", card("a", 1))
			previous := readAt(c)
			assert.That(t, c.Mirror(value, c.Look(), seen, plans) && readAt(c) != previous, "%+v", c)
		})
		t.Run(name+" are not if the customer has changed", func(t *testing.T) {
			c := active("basic", card("a", 1), card("b", 2))
			from := c.Look()
			require.NoError(t, c.SetDefault(owner, now, from, "b"))
			previous := readAt(c)
			assert.That(t, !c.Mirror(value, from, seen, plans) && readAt(c) == previous && len(c.Methods) == 2 &&
				c.Subscription != nil, "%+v", c)
		})
		t.Run(name+" are not if a later look has found the mirror correct", func(t *testing.T) {
			c := active("basic", card("a", 1))
			from := c.Look()
			correct := payment.Seen{
				Wallet:        &payment.Wallet{Methods: c.Methods, Default: "a"},
				Subscriptions: &[]payment.GatewaySubscription{held(payment.Active)}, Invoices: new([]payment.Invoice),
			}
			assert.That(t, c.Mirror(owner, c.Look(), correct, plans) && !c.Mirror(value, from, seen, plans) &&
				len(c.Methods) == 1 && c.Subscription != nil && c.InvoicesAt == now, "%+v", c)
		})
		t.Run(name+" are if another part was read meanwhile", func(t *testing.T) {
			for other, alsoSeen := range parts {
				c := customer()
				from := c.Look()
				assert.That(t, other == name || (c.Mirror(owner, from, alsoSeen, plans) && c.Mirror(value, from, seen,
					plans)), "%s: %+v", other, c)
			}
		})
	}
}

func TestTheDefaultDoesNotFollowTheGatewayWhileItIsBeingChanged(t *testing.T) {
	for name, tt := range map[string]struct {
		begin func(*payment.Customer) error
		seen  payment.MethodID // the default at the gateway meanwhile
		end   func(*payment.Customer)
		want  payment.MethodID
	}{
		"by a removal": {func(c *payment.Customer) error {
			_, err := c.Remove(owner, now, "a", "")
			return err
		}, "a", func(c *payment.Customer) { c.Removed(owner, "a") }, "b"},
		"by a purchase that is declined": {func(c *payment.Customer) error {
			_, err := c.Subscribe(owner, now, "k",
				payment.SubscribeRequest{Plan: "basic", Quantity: 1, Method: "b"}, plans)
			return err
		}, "b", func(c *payment.Customer) { c.Abandon(owner, "k", "card_declined") }, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			c := customer(card("a", 3), card("b", 2))
			require.NoError(t, tt.begin(c))
			meanwhile := payment.Wallet{
				Methods: []payment.Method{card("a", 3), card("b", 2), card("c", 1)},
				Default: tt.seen,
			}
			seeWallet(c, owner, meanwhile)
			m := c.DefaultMethod()
			assert.That(t, m != nil && m.ID == tt.want && c.Shown()[0].ID == "c", "%+v of %+v", m, c.Methods)
			tt.end(c)
			if m := c.DefaultMethod(); m == nil || m.ID != tt.want || !c.WalletAt.IsZero() {
				t.Errorf("afterwards: %+v, read at %s", m, c.WalletAt)
			}
		})
	}
}

func TestAResponseThatMayBeOlderThanTheMirrorDoesNotSettle(t *testing.T) {
	c := customer(card("a", 1))
	_, err := c.Subscribe(owner, now, "made", one("basic"), plans)
	require.NoError(t, err)
	from := c.Look()
	seeSubscriptions(c, owner, []payment.GatewaySubscription{held(payment.Active)}, plans)
	old := []payment.GatewaySubscription{held(payment.Incomplete)}
	assert.That(t, !c.Settle(owner, "made", from, old, plans) && c.Pending != nil &&
		c.Subscription.Status == payment.Active, "%+v", c)
	read := []payment.GatewaySubscription{held(payment.Active)}
	assert.That(t, c.Settle(owner, "made", c.Look(), read, plans) && c.Pending == nil &&
		c.Subscription.Status == payment.Active, "%+v", c)
}

func TestWhatWasSeenAgreesWithTheMirror(t *testing.T) {
	c := active("basic", card("a", 1))
	correct := payment.Seen{
		Wallet:        &payment.Wallet{Methods: c.Methods, Default: "a"},
		Subscriptions: &[]payment.GatewaySubscription{held(payment.Active)},
	}
	c.Mirror(owner, c.Look(), correct, plans)
	for name, tt := range map[string]struct {
		seen payment.Seen
		want bool
	}{
		"if it is the same":                     {correct, true},
		"but not with another card":             {payment.Seen{Wallet: &payment.Wallet{Methods: c.Methods}}, false},
		"but not without the subscription":      {payment.Seen{Subscriptions: new([]payment.GatewaySubscription)}, false},
		"but not if invoices were read as well": {payment.Seen{Invoices: new([]payment.Invoice)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			previous := *c
			assert.Equal(t, "agrees", c.Agrees(after(owner, time.Second), tt.seen, plans), tt.want)
			assert.That(t, c.Revision == previous.Revision && c.Subscription != nil && c.Default == "a" &&
				c.SubscriptionAt == previous.SubscriptionAt && len(c.Recorded()) == len(previous.Recorded()),
				"it changed: %+v", c)
		})
	}
}
