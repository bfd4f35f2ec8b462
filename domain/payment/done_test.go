package payment_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAChangeThatWasMadeIsNotMadeAgain(t *testing.T) {
	extra := 3
	change := payment.Changes{Quantity: &extra}
	h := held(payment.Active)
	h.Quantity = extra
	isChanged := func(t *testing.T, ch payment.Changes) *payment.Customer {
		t.Helper()
		c := active("basic", card("a", 1))
		if ch.Preview != "" {
			op, err := c.PreviewChange(owner, ch, plans)
			require.NoError(t, err)
			ch.Offer = c.NewOffer(op, payment.Preview{At: now})
		}
		_, err := c.ChangeSubscription(owner, "k", nil, ch, plans)
		require.NoError(t, err)
		c.Settle(owner, "k", c.Look(), []payment.GatewaySubscription{h}, plans)
		return c
	}
	repeat := func(t *testing.T, c *payment.Customer, key string, ch payment.Changes) {
		t.Helper()
		revision := c.Revision
		done, err := c.ChangeSubscription(owner, key, []int64{1}, ch, plans) // a revision from before
		require.NoError(t, err)
		assert.That(t, done && c.Pending == nil && c.Revision == revision, "done = %v, %+v", done, c.Pending)
	}
	t.Run("under its key", func(t *testing.T) {
		c := isChanged(t, change)
		repeat(t, c, "k", change)
		t.Run("within a day", func(t *testing.T) {
			for age, want := range map[time.Duration]bool{24*time.Hour - 1: true, 24 * time.Hour: false} {
				assert.That(t, c.HasDone(now.Add(age), "k", change) == want, "after %s", age)
			}
		})
		t.Run("also after ten minutes, and nine other changes", func(t *testing.T) {
			for i := range 9 {
				pause := i%2 == 0
				key := fmt.Sprint("other ", i)
				_, err := c.ChangeSubscription(owner, key, nil, payment.Changes{Pause: &pause}, plans)
				require.NoError(t, err)
				h.Paused = pause
				c.Settle(owner, key, c.Look(), []payment.GatewaySubscription{h}, plans)
			}
			repeat(t, c, "k", change)
		})
	})
	t.Run("not if it was so old that the gateway could not say whether it was made", func(t *testing.T) {
		for age, want := range map[time.Duration]bool{23 * time.Hour: true, 23*time.Hour + 1: false} {
			c := active("basic", card("a", 1))
			_, err := c.ChangeSubscription(owner, "k", nil, change, plans)
			require.NoError(t, err)
			c.Settle(after(owner, age), "k", c.Look(), []payment.GatewaySubscription{h}, plans)
			assert.That(t, c.HasDone(now.Add(age), "k", change) == want, "after %s", age)
		}
	})
	t.Run("with its preview under another key", func(t *testing.T) {
		previewedChanges := payment.Changes{Quantity: &extra, Preview: "signed"}
		repeat(t, isChanged(t, previewedChanges), "another", previewedChanges)
	})
	t.Run("but with another preview, or as another change, it is", func(t *testing.T) {
		c, other := isChanged(t, payment.Changes{Quantity: &extra, Preview: "signed"}), 4
		for _, ch := range []payment.Changes{
			{Quantity: &extra, Preview: "signed again"}, {Quantity: &other, Preview: "signed"}, {Quantity: &extra}, {},
		} {
			assert.That(t, !c.HasDone(now, "another", ch), "%+v", ch)
		}
	})
	t.Run("if its subscription has ended, it returns that there is none", func(t *testing.T) {
		c := isChanged(t, change)
		seeSubscriptions(c, owner, nil, plans)
		_, err := c.ChangeSubscription(owner, "k", nil, change, plans)
		require.ErrorIs(t, err, payment.ErrNoSubscription)
	})
	t.Run("a change without an effect can be made", func(t *testing.T) {
		c := active("basic", card("a", 1))
		_, err := c.ChangeSubscription(owner, "k", nil, change, plans)
		require.NoError(t, err)
		c.Abandon(owner, "k", "card_declined")
		assert.That(t, !c.HasDone(now, "k", change), "it counts as made")
	})
}

func TestACancellationThatWasMadeEndsNoOtherSubscription(t *testing.T) {
	c := active("basic", card("a", 1))
	require.NoError(t, c.CancelSubscription(owner, "k", nil, payment.Cancellation{}))
	c.Settle(owner, "k", c.Look(), nil, plans)
	require.NoError(t, c.CancelSubscription(owner, "k", []int64{1}, payment.Cancellation{}))
	next := held(payment.Active)
	next.ID = "sub_2"
	seeSubscriptions(c, owner, []payment.GatewaySubscription{next}, plans)
	require.NoError(t, c.CancelSubscription(owner, "k", nil, payment.Cancellation{}))
	assert.That(t, c.Pending == nil && c.Subscription.ID == "sub_2", "%+v, %+v", c.Pending, c.Subscription)
	require.NoError(t, c.CancelSubscription(owner, "another", nil, payment.Cancellation{}))
	assert.That(t, c.Pending != nil, "another call does not end it")
}

func TestInvoicesAreReadAgainAfterAnyOperation(t *testing.T) {
	settled := func(c *payment.Customer, subscriptions []payment.GatewaySubscription) {
		t.Helper()
		seen := payment.Seen{Subscriptions: &subscriptions, Invoices: &[]payment.Invoice{}}
		c.Mirror(owner, c.Look(), seen, plans) // an event has arrived before the response
		assert.That(t, !c.InvoicesAt.IsZero(), "the event's invoices are not mirrored")
		assert.That(t, c.Settle(owner, "k", c.Look(), subscriptions, plans), "the operation is not settled")
		assert.That(t, c.InvoicesAt.IsZero(), "the invoices are those of before the operation's end")
	}
	t.Run("the end of a subscription, which voids invoices", func(t *testing.T) {
		c := active("basic", card("a", 1))
		require.NoError(t, c.CancelSubscription(owner, "k", nil, payment.Cancellation{}))
		settled(c, nil)
	})
	t.Run("a change, which can charge at once", func(t *testing.T) {
		c := active("basic", card("a", 1))
		extra := 3
		_, err := c.ChangeSubscription(owner, "k", nil, payment.Changes{Quantity: &extra}, plans)
		require.NoError(t, err)
		settled(c, []payment.GatewaySubscription{held(payment.Active)})
	})
}
