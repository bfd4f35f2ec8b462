package billing_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
)

func TestPreviewsOfChanges(t *testing.T) {
	dear, cheap, more := billing.PlanID("pro"), billing.PlanID("basic"), 2
	yes := true
	offered := func(c *billing.Customer) (*billing.Offer, *billing.Operation) {
		t.Helper()
		op, err := c.PreviewChange(owner, billing.Changes{Plan: &dear}, plans)
		wantErr(t, err, nil)
		return c.NewOffer(op, billing.Preview{At: now, Today: billing.Money{Amount: 1800, Currency: "usd"}}), op
	}
	t.Run("a preview has the errors of the change, and changes nothing", func(t *testing.T) {
		c := subscribed("basic", billing.Active, card("a", 1))
		revision := c.Revision
		op, err := c.PreviewChange(owner, billing.Changes{Plan: &dear}, plans)
		wantErr(t, err, nil)
		if op.Plan != "pro" || !op.Resell || op.AtRenewal || c.Pending != nil || c.Revision != revision {
			t.Errorf("%+v, %+v", op, c)
		}
		if op, err := c.PreviewChange(owner, billing.Changes{Plan: &cheap}, plans); err != nil || op.Resell {
			t.Errorf("no change: %+v, %v", op, err)
		}
		for name, tt := range map[string]struct {
			c    *billing.Customer
			err  error
			want billing.Changes
		}{
			"no subscription": {c: customer(card("a", 1)), err: billing.ErrNoSubscription},
			"unpaid":          {c: subscribed("basic", billing.Unpaid), err: billing.ErrSubscriptionNotActive},
			"pending":         {c: pending(subscribed("basic", billing.Active), "other"), err: billing.ErrPending},
			"another currency": {
				c: subscribed("euro", billing.Active), want: billing.Changes{Plan: &dear},
				err: billing.ErrPlanUnavailable,
			},
		} {
			_, err := tt.c.PreviewChange(owner, tt.want, plans)
			if wantErr(t, err, tt.err); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		_, err = c.PreviewChange(member, billing.Changes{Plan: &dear}, plans)
		wantErr(t, err, billing.ErrRoleRequired)
	})
	t.Run("a change is made as it was offered", func(t *testing.T) {
		c := subscribed("basic", billing.Active, card("a", 1))
		o, _ := offered(c)
		_, err := c.ChangeSubscription(owner, "key", nil, billing.Changes{Plan: &dear, Offer: o}, plans)
		if wantErr(t, err, nil); !c.Pending.ProrateAt.Equal(now) || !c.Pending.Amendment(pro).ProrateAt.Equal(now) {
			t.Errorf("%+v", c.Pending)
		}
	})
	for name, change := range map[string]func(c *billing.Customer, ch *billing.Changes){
		"another plan":         func(_ *billing.Customer, ch *billing.Changes) { ch.Plan = nil; ch.Quantity = &more },
		"another quantity":     func(_ *billing.Customer, ch *billing.Changes) { ch.Quantity = &more },
		"an end besides":       func(_ *billing.Customer, ch *billing.Changes) { ch.CancelAtPeriodEnd = &yes },
		"another subscription": func(c *billing.Customer, _ *billing.Changes) { c.Subscription.ID = "sub_2" },
		"another quantity now": func(c *billing.Customer, _ *billing.Changes) { c.Subscription.Quantity = 3 },
		"another status": func(c *billing.Customer, _ *billing.Changes) {
			c.Subscription.Status = billing.Trialing
		},
		"the next period": func(c *billing.Customer, _ *billing.Changes) { c.Subscription.PeriodEnd = now },
		"a subscription's end": func(c *billing.Customer, _ *billing.Changes) {
			c.Subscription.EndsAt = c.Subscription.PeriodEnd
		},
		"a change at a renewal": func(c *billing.Customer, _ *billing.Changes) {
			c.Subscription.Pending = &billing.PendingChange{}
		},
	} {
		t.Run("an offer is refused after "+name, func(t *testing.T) {
			c := subscribed("basic", billing.Active, card("a", 1))
			o, _ := offered(c)
			ch := billing.Changes{Plan: &dear, Offer: o}
			change(c, &ch)
			_, err := c.ChangeSubscription(owner, "key", nil, ch, plans)
			if wantErr(t, err, billing.ErrPreviewOutdated); c.Pending != nil {
				t.Errorf("%+v", c.Pending)
			}
		})
	}
	t.Run("an offer is read in its workspace until it expires", func(t *testing.T) {
		o, op := offered(subscribed("basic", billing.Active, card("a", 1)))
		text, err := o.Bytes()
		wantErr(t, err, nil)
		elsewhere := owner
		elsewhere.Workspace = "other"
		_, err = billing.ParseOffer(elsewhere, o.Account, text)
		wantErr(t, err, billing.ErrPreviewNotFound)
		_, err = billing.ParseOffer(owner, "stripe test", text)
		wantErr(t, err, billing.ErrPreviewNotFound)
		_, err = billing.ParseOffer(owner, o.Account, []byte("{"))
		wantErr(t, err, billing.ErrPreviewNotFound)
		for age, want := range map[time.Duration]error{
			-time.Second: billing.ErrPreviewOutdated, 0: nil, 15*time.Minute - 1: nil,
			15 * time.Minute: billing.ErrPreviewOutdated,
		} {
			err = o.Valid(now.Add(age))
			wantErr(t, err, want)
		}
		read, err := billing.ParseOffer(owner, o.Account, text)
		wantErr(t, err, nil)
		wantErr(t, read.Check(subscribed("basic", billing.Active), op), nil)
		same := read.Preview
		wantErr(t, o.Costs(&same), nil)
		for _, change := range []func(p *billing.Preview){
			func(p *billing.Preview) { p.Today.Amount++ },
			func(p *billing.Preview) { p.Today.Currency = "eur" },
			func(p *billing.Preview) { p.Next.Amount++ },
			func(p *billing.Preview) { p.Credit.Amount++ },
			func(p *billing.Preview) { p.NextAt = now },
		} {
			other := same
			change(&other)
			wantErr(t, o.Costs(&other), billing.ErrPreviewOutdated)
		}
	})
}
