package payment_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestPreviewsOfChanges(t *testing.T) {
	dear, cheap, extra := payment.PlanID("pro"), payment.PlanID("basic"), 2
	yes := true
	offeredOffer := func(c *payment.Customer) (*payment.Offer, *payment.Operation) {
		t.Helper()
		op, err := c.PreviewChange(owner, payment.Changes{Plan: &dear}, plans)
		require.NoError(t, err)
		return c.NewOffer(op, payment.Preview{At: now, Today: payment.Money{Amount: 1800, Currency: "usd"}}), op
	}
	t.Run("a preview has the errors of the change, and changes nothing", func(t *testing.T) {
		c := active("basic", card("a", 1))
		revision := c.Revision
		op, err := c.PreviewChange(owner, payment.Changes{Plan: &dear}, plans)
		require.NoError(t, err)
		assert.That(t, op.Plan == "pro" && op.Resell && !op.AtRenewal && c.Pending == nil && c.Revision == revision,
			"%+v, %+v", op, c)
		if op, err := c.PreviewChange(owner, payment.Changes{Plan: &cheap}, plans); err != nil || op.Resell {
			t.Errorf("no change: %+v, %v", op, err)
		}
		for name, tt := range map[string]struct {
			c    *payment.Customer
			err  error
			want payment.Changes
		}{
			"no subscription": {c: customer(card("a", 1)), err: payment.ErrNoSubscription},
			"unpaid":          {c: subscribed("basic", payment.Unpaid), err: payment.ErrSubscriptionNotActive},
			"pending":         {c: pending(active("basic"), "other"), err: payment.ErrPending},
			"another currency": {
				c: active("euro"), want: payment.Changes{Plan: &dear},
				err: payment.ErrPlanUnavailable,
			},
		} {
			_, err := tt.c.PreviewChange(owner, tt.want, plans)
			require.ErrorIs(t, err, tt.err)
			assert.That(t, err != nil, "%s: no error", name)
		}
		_, err = c.PreviewChange(member, payment.Changes{Plan: &dear}, plans)
		require.ErrorIs(t, err, payment.ErrRoleRequired)
	})
	t.Run("a change is made as it was offered", func(t *testing.T) {
		c := active("basic", card("a", 1))
		o, _ := offeredOffer(c)
		_, err := c.ChangeSubscription(owner, "key", nil, payment.Changes{Plan: &dear, Offer: o}, plans)
		require.NoError(t, err)
		assert.That(t, c.Pending.ProrateAt.Equal(now) && c.Pending.Amendment(pro).ProrateAt.Equal(now),
			"%+v", c.Pending)
	})
	for name, change := range map[string]func(c *payment.Customer, ch *payment.Changes){
		"another plan":         func(_ *payment.Customer, ch *payment.Changes) { ch.Plan = nil; ch.Quantity = &extra },
		"another quantity":     func(_ *payment.Customer, ch *payment.Changes) { ch.Quantity = &extra },
		"an end besides":       func(_ *payment.Customer, ch *payment.Changes) { ch.CancelAtPeriodEnd = &yes },
		"another subscription": func(c *payment.Customer, _ *payment.Changes) { c.Subscription.ID = "sub_2" },
		"another quantity now": func(c *payment.Customer, _ *payment.Changes) { c.Subscription.Quantity = 3 },
		"another status": func(c *payment.Customer, _ *payment.Changes) {
			c.Subscription.Status = payment.Trialing
		},
		"the next period": func(c *payment.Customer, _ *payment.Changes) { c.Subscription.PeriodEnd = now },
		"a subscription's end": func(c *payment.Customer, _ *payment.Changes) {
			c.Subscription.EndsAt = c.Subscription.PeriodEnd
		},
		"a change at a renewal": func(c *payment.Customer, _ *payment.Changes) {
			c.Subscription.Pending = &payment.PendingChange{}
		},
	} {
		t.Run("an offer is refused after "+name, func(t *testing.T) {
			c := active("basic", card("a", 1))
			o, _ := offeredOffer(c)
			ch := payment.Changes{Plan: &dear, Offer: o}
			change(c, &ch)
			_, err := c.ChangeSubscription(owner, "key", nil, ch, plans)
			require.ErrorIs(t, err, payment.ErrPreviewOutdated)
			assert.That(t, c.Pending == nil, "%+v", c.Pending)
		})
	}
	t.Run("an offer is read in its workspace until it expires", func(t *testing.T) {
		o, op := offeredOffer(active("basic", card("a", 1)))
		text, err := o.Bytes()
		require.NoError(t, err)
		elsewhere := owner
		elsewhere.Workspace = "other"
		_, err = payment.ParseOffer(elsewhere, o.Account, text)
		require.ErrorIs(t, err, payment.ErrPreviewNotFound)
		_, err = payment.ParseOffer(owner, "stripe test", text)
		require.ErrorIs(t, err, payment.ErrPreviewNotFound)
		_, err = payment.ParseOffer(owner, o.Account, []byte("{"))
		require.ErrorIs(t, err, payment.ErrPreviewNotFound)
		for age, want := range map[time.Duration]error{
			-time.Second: payment.ErrPreviewOutdated, 0: nil, 15*time.Minute - 1: nil,
			15 * time.Minute: payment.ErrPreviewOutdated,
		} {
			err = o.Valid(now.Add(age))
			require.ErrorIs(t, err, want)
		}
		read, err := payment.ParseOffer(owner, o.Account, text)
		require.NoError(t, err)
		require.NoError(t, read.Check(active("basic"), op))
		same := read.Preview
		require.NoError(t, o.Costs(&same))
		for _, change := range []func(p *payment.Preview){
			func(p *payment.Preview) { p.Today.Amount++ },
			func(p *payment.Preview) { p.Today.Currency = "eur" },
			func(p *payment.Preview) { p.Next.Amount++ },
			func(p *payment.Preview) { p.Credit.Amount++ },
			func(p *payment.Preview) { p.NextAt = now },
		} {
			other := same
			change(&other)
			require.ErrorIs(t, o.Costs(&other), payment.ErrPreviewOutdated)
		}
	})
}
