package payment_test

import (
	"maps"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestACardExpiresWhenItsMonthHasEndedEverywhere(t *testing.T) {
	m := payment.Method{ExpMonth: 2, ExpYear: 2028}
	for _, tt := range []struct {
		at   time.Time
		want bool
	}{
		{time.Date(2028, 2, 29, 23, 59, 59, 0, time.UTC), false},
		{time.Date(2028, 3, 1, 11, 59, 59, 0, time.UTC), false},
		{time.Date(2028, 3, 1, 12, 0, 0, 0, time.UTC), true},
	} {
		got := m.Expired(tt.at)
		assert.That(t, got == tt.want, "at %s: %v", tt.at, got)
	}
	empty := (payment.Method{})
	assert.That(t, !empty.Expired(now), "what has no date never expires")
	december := (payment.Method{ExpMonth: 12, ExpYear: 2026})
	assert.That(t, !december.Expired(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) && december.Expired(time.Date(2027,
		1, 2, 0, 0, 0, 0, time.UTC)), "December ends with the year")
}

func TestRemovingAMethod(t *testing.T) {
	for name, tt := range map[string]struct {
		of              *payment.Customer
		id, replacement payment.MethodID
		next            payment.MethodID
		def             payment.MethodID
		err             error
	}{
		"one that is not the default changes nothing else": {of: customer(card("a", 1), card("b", 2)),
			id: "b", def: "a"},
		"of the default, the newest valid one takes its place": {of: customer(card("a", 3), card("b", 2), card("c", 1)),
			id: "a", next: "c", def: "c"},
		"an expired one does not": {of: customer(card("a", 3), card("b", 2), expired("c")),
			id: "a", next: "b", def: "b"},
		"or the one that the caller chose": {of: customer(card("a", 3), card("b", 2), card("c", 1)),
			id: "a", replacement: "b", next: "b", def: "b"},
		"the last one goes if nothing is charged to it": {of: customer(card("a", 1)), id: "a"},
		"the last valid one stays while a subscription lives": {of: active("basic", card("a", 1),
			expired("b")), id: "a", err: payment.ErrMethodInUse},
		"even one that has not begun": {of: subscribed("basic", payment.Incomplete, card("a", 1)), id: "a",
			err: payment.ErrMethodInUse},
		"nor is it charged if the subscription ends with its period": {of: endingSoon(active("basic", card("a", 1))), id: "a"},
		"but for what is used until then": {of: usesMeter(endingSoon(active("basic", card("a", 1)))), id: "a",
			err: payment.ErrMethodInUse},
		"or for a renewal that is not paid": {of: endingSoon(subscribed("basic", payment.PastDue, card("a", 1))), id: "a",
			err: payment.ErrMethodInUse},
		"one of two valid ones goes": {of: active("basic", card("a", 1), card("b", 2)), id: "a",
			next: "b", def: "b"},
		"an expired one goes, though it is the last": {of: active("basic", expired("a")), id: "a"},
		"a missing method cannot be removed": {of: customer(card("a", 1)), id: "x", def: "a",
			err: payment.ErrMethodNotFound},
		"or names a replacement that is not there": {of: customer(card("a", 1)), id: "a", replacement: "x", def: "a",
			err: payment.ErrMethodNotFound},
		"or itself": {of: customer(card("a", 1)), id: "a", replacement: "a", def: "a", err: payment.ErrMethodNotFound},
		"or one that has expired": {of: customer(card("a", 1), expired("b")), id: "a", replacement: "b", def: "a",
			err: payment.ErrMethodExpired},
		"without a default at the gateway, one is chosen at once": {of: &payment.Customer{Workspace: "acme",
			Methods: []payment.Method{card("a", 1), card("b", 2)}}, id: "a", next: "b", def: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			previous := tt.of.Revision
			next, err := tt.of.Remove(admin, now, tt.id, tt.replacement)
			require.ErrorIs(t, err, tt.err)
			if err != nil {
				assert.That(t, tt.of.Revision == previous && len(tt.of.Recorded()) == 0, "a refusal changed something")
				return
			}
			assert.That(t, next == tt.next && tt.of.Default == tt.def && tt.of.Revision != previous &&
				recorded(&tt.of.Log) == "payment_method.removed ",
				"next %q, default %q, recorded %s", next, tt.of.Default, recorded(&tt.of.Log))
			for _, m := range tt.of.Shown() {
				assert.That(t, m.ID != tt.id, "it is shown still")
			}
			second, err := tt.of.Remove(admin, now, tt.id, "")
			assert.That(t, err == nil && second == tt.def, "again: %q, %v", second, err)
			tt.of.Removed(admin, tt.id)
			_, err = tt.of.Remove(admin, now, tt.id, "")
			assert.That(t, err != nil, "it is there still")
		})
	}
	t.Run("of two that go at once, the second is the last", func(t *testing.T) {
		c := active("basic", card("a", 1), card("b", 2))
		_, err := c.Remove(owner, now, "a", "")
		require.NoError(t, err)
		_, err = c.Remove(owner, now, "b", "")
		require.ErrorIs(t, err, payment.ErrMethodInUse)
	})
	t.Run("so too while a subscription is on its way", func(t *testing.T) {
		c := customer(card("a", 1))
		_, err := c.Subscribe(owner, now, "k", one("basic"), plans)
		require.NoError(t, err)
		_, err = c.Remove(owner, now, "a", "")
		require.ErrorIs(t, err, payment.ErrMethodInUse)
	})
}

func TestOnlyOwnersAndAdminsManagePayments(t *testing.T) {
	cappedActor := actor(identity.Owner)
	cappedActor.Ceiling = identity.Viewer
	stranger := actor(identity.Owner)
	stranger.Workspace = "other"
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{
		"an owner may": {owner, nil}, "an admin may": {admin, nil},
		"a member may not":              {member, payment.ErrRoleRequired},
		"nor a key for viewing":         {cappedActor, payment.ErrRoleRequired},
		"nor another workspace's owner": {stranger, identity.ErrWorkspaceNotFound},
		"nor an anonymous caller":       {identity.Actor{}, identity.ErrWorkspaceNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			plan := payment.PlanID("pro")
			for label, try := range map[string]func(*payment.Customer) error{
				"remove":      func(c *payment.Customer) error { _, err := c.Remove(tt.by, now, "a", ""); return err },
				"set default": func(c *payment.Customer) error { return c.SetDefault(tt.by, now, c.Look(), "b") },
				"change": func(c *payment.Customer) error {
					_, err := c.ChangeSubscription(tt.by, "k", nil, payment.Changes{Plan: &plan}, plans)
					return err
				},
				"cancel": func(c *payment.Customer) error {
					return c.CancelSubscription(tt.by, "k", nil, payment.Cancellation{})
				},
				"subscribe": func(c *payment.Customer) error {
					c.Subscription = nil
					_, err := c.Subscribe(tt.by, now, "k", one("pro"), plans)
					return err
				},
			} {
				t.Run(label, func(t *testing.T) {
					require.ErrorIs(t, try(active("basic", card("a", 1), card("b", 2))), tt.want)
				})
			}
		})
	}
}

func TestTheWalletOfTheGatewayIsTakenOver(t *testing.T) {
	c := customer(card("a", 1), card("b", 2))
	c.Methods[1].Detaching = true
	seeWallet(c, owner, payment.Wallet{Methods: []payment.Method{card("b", 2), card("c", 0)}, Default: "b"})
	got := c.Shown()
	require.That(t, len(got) == 1 && got[0].ID == "c" && c.Default == "" && c.WalletAt.IsZero() && c.Revision == 6,
		"%+v", c)
	assert.Equal(t, "recorded", recorded(&c.Log), "payment_method.added payment_method.removed ")
	m := c.DefaultMethod()
	assert.That(t, m == nil, "the gateway has no default, and %+v is shown as one", m)
	if m := c.MissingDefault(now); m == nil || m.ID != "c" {
		t.Errorf("to be made the default: %+v", m)
	}
	t.Run("the same again is no change", func(t *testing.T) {
		seeWallet(c, owner, payment.Wallet{Methods: []payment.Method{card("c", 0), card("b", 2)}})
		assert.That(t, c.Revision == 6, "the revision moved")
	})
}

// paidBy returns a customer with the cards a, the customer's default, and b, with which its subscription was bought.
func paidBy(b payment.Method) *payment.Customer {
	c := subscribed("basic", payment.Active, card("a", 2), b)
	bought := held(payment.Active)
	bought.Method = b.ID
	seeSubscriptions(c, owner, []payment.GatewaySubscription{bought}, plans)
	return c
}

func TestTheMethodOfTheSubscriptionIsShownBeforeTheDefaultOfTheCustomer(t *testing.T) {
	expectDefault := func(t *testing.T, c *payment.Customer, want payment.MethodID) {
		t.Helper()
		if m := c.DefaultMethod(); m == nil || m.ID != want {
			t.Errorf("%+v is shown, want %s", m, want)
		}
	}
	t.Run("as soon as it is seen", func(t *testing.T) {
		c := paidBy(card("b", 1))
		expectDefault(t, c, "b")
		if previous := subscribed("basic", payment.Active); c.Revision == previous.Revision {
			t.Error("the revision is that of before")
		}
	})
	t.Run("and once a subscription has no method of its own, the default is", func(t *testing.T) {
		c := paidBy(card("b", 1))
		seeSubscriptions(c, owner, []payment.GatewaySubscription{held(payment.Active)}, plans)
		expectDefault(t, c, "a")
	})
	t.Run("or once the gateway has removed it", func(t *testing.T) {
		c := paidBy(card("b", 1))
		seeWallet(c, owner, payment.Wallet{Methods: []payment.Method{card("a", 2)}, Default: "a"})
		expectDefault(t, c, "a")
	})
	t.Run("a notice says that it expires", func(t *testing.T) {
		c := paidBy(expired("b"))
		if got := c.DueNotices(now, 0); len(got) != 1 || got[0].Data["payment_method_id"] != payment.MethodID("b") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("it becomes the default of a customer without one", func(t *testing.T) {
		c := paidBy(card("b", 1))
		c.Methods, c.Default = append(c.Methods, card("newest", 0)), ""
		if m := c.MissingDefault(now); m == nil || m.ID != "b" {
			t.Errorf("%+v", m)
		}
		c.Methods = []payment.Method{card("a", 2)} // a wallet from before the purchase
		if m := c.MissingDefault(now); m != nil {
			t.Errorf("not mirrored yet: %+v", m)
		}
	})
	t.Run("a default that is chosen replaces both", func(t *testing.T) {
		c := paidBy(card("b", 1))
		require.NoError(t, c.SetDefault(owner, now, c.Look(), "a"))
		expectDefault(t, c, "a")
		if got := recorded(&c.Log); got != "payment_method.default_changed " || c.Recorded()[0].Subject != "a" {
			t.Errorf("recorded %s", got)
		}
		previous := c.Revision
		require.NoError(t, c.SetDefault(owner, now, c.Look(), "a"))
		if c.Revision != previous {
			t.Error("the same again is a change")
		}
	})
	t.Run("of the two, what is removed is replaced by the other", func(t *testing.T) {
		for id, other := range map[payment.MethodID]payment.MethodID{"a": "b", "b": "a"} {
			c := paidBy(card("b", 1))
			c.Methods = append(c.Methods, card("newest", 0))
			next, err := c.Remove(owner, now, id, "")
			require.NoError(t, err)
			assert.That(t, next == other, "without %s: %s, want %s", id, next, other)
			expectDefault(t, c, other)
			c.Removed(owner, id)
			expectDefault(t, c, other)
		}
	})
	t.Run("it stays when a third one is removed", func(t *testing.T) {
		c := paidBy(card("b", 1))
		c.Methods = append(c.Methods, card("newest", 0))
		next, err := c.Remove(owner, now, "newest", "")
		require.NoError(t, err)
		assert.That(t, next == "", "%s becomes the default", next)
		expectDefault(t, c, "b")
	})
	t.Run("an audit reports another one", func(t *testing.T) {
		c := paidBy(card("b", 1))
		seen := payment.Seen{Subscriptions: &[]payment.GatewaySubscription{held(payment.Active)}}
		got, isCurrent := c.Differences(owner, c.Look(), seen, plans)
		if !isCurrent || len(got) != 1 || got[0].Type != "payment_method.default_changed" || got[0].Subject != "a" {
			t.Errorf("%+v, %v", got, isCurrent)
		}
	})
}

// endingSoon sets the subscription of c to end with its period.
func endingSoon(c *payment.Customer) *payment.Customer {
	c.Subscription.CancelAtPeriodEnd = true
	return c
}

// usesMeter has the subscription of c billed by usage.
func usesMeter(c *payment.Customer) *payment.Customer {
	c.Subscription.Item.Meter = "price_messages"
	return c
}

func TestTheSameCardTwiceIsOneMethod(t *testing.T) {
	twin := func(id payment.MethodID, minutes int) payment.Method {
		m := card(id, minutes)
		m.Fingerprint = "fp"
		return m
	}
	other := card("other", 0)
	other.Fingerprint = "fp_other"
	incomplete := subscribed("basic", payment.Incomplete, twin("old", 2), twin("new", 1))
	unsettled := customer(twin("old", 2), twin("new", 1))
	unsettled.Pending = &payment.Operation{Kind: payment.Change}
	for name, tt := range map[string]struct {
		c    *payment.Customer
		want map[payment.MethodID]payment.MethodID
	}{
		"the newest one stays": {customer(twin("older", 3), twin("old", 2), other, twin("new", 1)),
			map[payment.MethodID]payment.MethodID{"older": "new", "old": ""}},
		"methods without a fingerprint are different ones": {customer(card("a", 1), card("b", 2)), nil},
		"one that a first payment may wait for stays":      {incomplete, nil},
		"while another outcome is unknown, all stay":       {unsettled, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[payment.MethodID]payment.MethodID{}
			for _, d := range tt.c.Duplicates() {
				got[d.Method] = d.Replacement
			}
			assert.That(t, maps.Equal(got, tt.want), "%v", got)
		})
	}
}
