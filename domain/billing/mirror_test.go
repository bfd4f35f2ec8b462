package billing_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
)

func TestWhatMayBeOlderThanTheMirrorIsNotMirrored(t *testing.T) {
	later := after(owner, time.Second)
	parts := map[string]billing.Seen{
		"payment methods": {Wallet: new(billing.Wallet)},
		"subscriptions":   {Subscriptions: new([]billing.GatewaySubscription)},
		"invoices":        {Invoices: new([]billing.Invoice)},
	}
	readAt := func(c *billing.Customer) [3]time.Time {
		return [3]time.Time{c.WalletAt, c.SubscriptionAt, c.InvoicesAt}
	}
	for name, seen := range parts {
		t.Run(name+" are mirrored if nothing was stored since they were read", func(t *testing.T) {
			c := subscribed("basic", billing.Active, card("a", 1))
			if before := readAt(c); !c.Mirror(later, c.Look(), seen, plans) || readAt(c) == before {
				t.Errorf("%+v", c)
			}
		})
		t.Run(name+" are not if the customer has changed", func(t *testing.T) {
			c := subscribed("basic", billing.Active, card("a", 1), card("b", 2))
			from := c.Look()
			wantErr(t, c.SetDefault(owner, now, from, "b"), nil)
			before := readAt(c)
			if c.Mirror(later, from, seen, plans) || readAt(c) != before || len(c.Methods) != 2 ||
				c.Subscription == nil {
				t.Errorf("%+v", c)
			}
		})
		t.Run(name+" are not if a later look has found the mirror correct", func(t *testing.T) {
			c := subscribed("basic", billing.Active, card("a", 1))
			from := c.Look()
			correct := billing.Seen{
				Wallet:        &billing.Wallet{Methods: c.Methods, Default: "a"},
				Subscriptions: &[]billing.GatewaySubscription{held(billing.Active)}, Invoices: new([]billing.Invoice),
			}
			if !c.Mirror(owner, c.Look(), correct, plans) || c.Mirror(later, from, seen, plans) ||
				len(c.Methods) != 1 || c.Subscription == nil || c.InvoicesAt != now {
				t.Errorf("%+v", c)
			}
		})
		t.Run(name+" are if another part was read meanwhile", func(t *testing.T) {
			for other, alsoSeen := range parts {
				c := customer()
				from := c.Look()
				if other != name && (!c.Mirror(owner, from, alsoSeen, plans) || !c.Mirror(later, from, seen, plans)) {
					t.Errorf("%s: %+v", other, c)
				}
			}
		})
	}
}

func TestTheDefaultDoesNotFollowTheGatewayWhileItIsBeingChanged(t *testing.T) {
	for name, tt := range map[string]struct {
		begin func(*billing.Customer) error
		seen  billing.MethodID // the default at the gateway meanwhile
		end   func(*billing.Customer)
		want  billing.MethodID
	}{
		"by a removal": {func(c *billing.Customer) error {
			_, err := c.Remove(owner, now, "a", "")
			return err
		}, "a", func(c *billing.Customer) { c.Removed(owner, "a") }, "b"},
		"by a purchase that is declined": {func(c *billing.Customer) error {
			_, err := c.Subscribe(owner, now, "k",
				billing.SubscribeRequest{Plan: "basic", Quantity: 1, Method: "b"}, plans)
			return err
		}, "b", func(c *billing.Customer) { c.Abandon(owner, "k", "card_declined") }, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			c := customer(card("a", 3), card("b", 2))
			wantErr(t, tt.begin(c), nil)
			meanwhile := billing.Wallet{
				Methods: []billing.Method{card("a", 3), card("b", 2), card("c", 1)},
				Default: tt.seen,
			}
			seeWallet(c, owner, meanwhile)
			if m := c.DefaultMethod(); m == nil || m.ID != tt.want || c.Shown()[0].ID != "c" {
				t.Errorf("%+v of %+v", m, c.Methods)
			}
			tt.end(c)
			if m := c.DefaultMethod(); m == nil || m.ID != tt.want || !c.WalletAt.IsZero() {
				t.Errorf("afterwards: %+v, read at %s", m, c.WalletAt)
			}
		})
	}
}

func TestAResponseThatMayBeOlderThanTheMirrorDoesNotSettle(t *testing.T) {
	c := customer(card("a", 1))
	_, err := c.Subscribe(owner, now, "made", billing.SubscribeRequest{Plan: "basic", Quantity: 1}, plans)
	wantErr(t, err, nil)
	from := c.Look()
	seeSubscriptions(c, owner, []billing.GatewaySubscription{held(billing.Active)}, plans)
	old := []billing.GatewaySubscription{held(billing.Incomplete)}
	if c.Settle(owner, "made", from, old, plans) || c.Pending == nil || c.Subscription.Status != billing.Active {
		t.Errorf("%+v", c)
	}
	read := []billing.GatewaySubscription{held(billing.Active)}
	if !c.Settle(owner, "made", c.Look(), read, plans) || c.Pending != nil || c.Subscription.Status != billing.Active {
		t.Errorf("%+v", c)
	}
}

func TestWhatWasSeenAgreesWithTheMirror(t *testing.T) {
	c := subscribed("basic", billing.Active, card("a", 1))
	correct := billing.Seen{
		Wallet:        &billing.Wallet{Methods: c.Methods, Default: "a"},
		Subscriptions: &[]billing.GatewaySubscription{held(billing.Active)},
	}
	c.Mirror(owner, c.Look(), correct, plans)
	for name, tt := range map[string]struct {
		seen billing.Seen
		want bool
	}{
		"if it is the same":                     {correct, true},
		"but not with another card":             {billing.Seen{Wallet: &billing.Wallet{Methods: c.Methods}}, false},
		"but not without the subscription":      {billing.Seen{Subscriptions: new([]billing.GatewaySubscription)}, false},
		"but not if invoices were read as well": {billing.Seen{Invoices: new([]billing.Invoice)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := *c
			if got := c.Agrees(after(owner, time.Second), tt.seen, plans); got != tt.want {
				t.Errorf("agrees: %t", got)
			}
			if c.Revision != before.Revision || c.Subscription == nil || c.Default != "a" ||
				c.SubscriptionAt != before.SubscriptionAt || len(c.Recorded()) != len(before.Recorded()) {
				t.Errorf("it changed: %+v", c)
			}
		})
	}
}
