package payment_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

func TestPreviewsOfChanges(t *testing.T) {
	dear, cheap, more := payment.PlanID("pro"), payment.PlanID("basic"), 2
	yes := true
	offered := func(c *payment.Customer) (*payment.Offer, *payment.Operation) {
		t.Helper()
		op, err := c.PreviewChange(owner, payment.Changes{Plan: &dear}, plans)
		wantErr(t, err, nil)
		return c.NewOffer(op, payment.Preview{At: now, Today: payment.Money{Amount: 1800, Currency: "usd"}}), op
	}
	t.Run("a preview has the errors of the change, and changes nothing", func(t *testing.T) {
		c := subscribed("basic", payment.Active, card("a", 1))
		revision := c.Revision
		op, err := c.PreviewChange(owner, payment.Changes{Plan: &dear}, plans)
		wantErr(t, err, nil)
		if op.Plan != "pro" || !op.Resell || op.AtRenewal || c.Pending != nil || c.Revision != revision {
			t.Errorf("%+v, %+v", op, c)
		}
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
			"pending":         {c: pending(subscribed("basic", payment.Active), "other"), err: payment.ErrPending},
			"another currency": {
				c: subscribed("euro", payment.Active), want: payment.Changes{Plan: &dear},
				err: payment.ErrPlanUnavailable,
			},
		} {
			_, err := tt.c.PreviewChange(owner, tt.want, plans)
			if wantErr(t, err, tt.err); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		_, err = c.PreviewChange(member, payment.Changes{Plan: &dear}, plans)
		wantErr(t, err, payment.ErrRoleRequired)
	})
	t.Run("a change is made as it was offered", func(t *testing.T) {
		c := subscribed("basic", payment.Active, card("a", 1))
		o, _ := offered(c)
		_, err := c.ChangeSubscription(owner, "key", nil, payment.Changes{Plan: &dear, Offer: o}, plans)
		if wantErr(t, err, nil); !c.Pending.ProrateAt.Equal(now) || !c.Pending.Amendment(pro).ProrateAt.Equal(now) {
			t.Errorf("%+v", c.Pending)
		}
	})
	for name, change := range map[string]func(c *payment.Customer, ch *payment.Changes){
		"another plan":         func(_ *payment.Customer, ch *payment.Changes) { ch.Plan = nil; ch.Quantity = &more },
		"another quantity":     func(_ *payment.Customer, ch *payment.Changes) { ch.Quantity = &more },
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
			c := subscribed("basic", payment.Active, card("a", 1))
			o, _ := offered(c)
			ch := payment.Changes{Plan: &dear, Offer: o}
			change(c, &ch)
			_, err := c.ChangeSubscription(owner, "key", nil, ch, plans)
			if wantErr(t, err, payment.ErrPreviewOutdated); c.Pending != nil {
				t.Errorf("%+v", c.Pending)
			}
		})
	}
	t.Run("an offer is read in its workspace until it expires", func(t *testing.T) {
		o, op := offered(subscribed("basic", payment.Active, card("a", 1)))
		text, err := o.Bytes()
		wantErr(t, err, nil)
		elsewhere := owner
		elsewhere.Workspace = "other"
		_, err = payment.ParseOffer(elsewhere, o.Account, text)
		wantErr(t, err, payment.ErrPreviewNotFound)
		_, err = payment.ParseOffer(owner, "stripe test", text)
		wantErr(t, err, payment.ErrPreviewNotFound)
		_, err = payment.ParseOffer(owner, o.Account, []byte("{"))
		wantErr(t, err, payment.ErrPreviewNotFound)
		for age, want := range map[time.Duration]error{
			-time.Second: payment.ErrPreviewOutdated, 0: nil, 15*time.Minute - 1: nil,
			15 * time.Minute: payment.ErrPreviewOutdated,
		} {
			err = o.Valid(now.Add(age))
			wantErr(t, err, want)
		}
		read, err := payment.ParseOffer(owner, o.Account, text)
		wantErr(t, err, nil)
		wantErr(t, read.Check(subscribed("basic", payment.Active), op), nil)
		same := read.Preview
		wantErr(t, o.Costs(&same), nil)
		for _, change := range []func(p *payment.Preview){
			func(p *payment.Preview) { p.Today.Amount++ },
			func(p *payment.Preview) { p.Today.Currency = "eur" },
			func(p *payment.Preview) { p.Next.Amount++ },
			func(p *payment.Preview) { p.Credit.Amount++ },
			func(p *payment.Preview) { p.NextAt = now },
		} {
			other := same
			change(&other)
			wantErr(t, o.Costs(&other), payment.ErrPreviewOutdated)
		}
	})
}
