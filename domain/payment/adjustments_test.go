package payment_test

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAnAdjustmentHasTheFieldsOfItsKind(t *testing.T) {
	usd := payment.Money{Amount: 500, Currency: "usd"}
	for name, tt := range map[string]struct {
		a        payment.Adjustment
		pointers string
	}{
		"comp":                    {payment.Adjustment{Kind: payment.Comp, Plan: "pro", Months: 3}, ""},
		"comp of the plan it has": {payment.Adjustment{Kind: payment.Comp}, ""},
		"trial extension":         {payment.Adjustment{Kind: payment.TrialExtension, Days: 7}, ""},
		"credit":                  {payment.Adjustment{Kind: payment.CreditGrant, Credit: usd}, ""},

		"comp for years":      {payment.Adjustment{Kind: payment.Comp, Months: 37}, "/months"},
		"comp with an amount": {payment.Adjustment{Kind: payment.Comp, Credit: usd}, "/amount /currency"},
		"comp with days":      {payment.Adjustment{Kind: payment.Comp, Days: 1}, "/days"},
		"no days":             {payment.Adjustment{Kind: payment.TrialExtension}, "/days"},
		"too many days":       {payment.Adjustment{Kind: payment.TrialExtension, Days: 731}, "/days"},
		"a plan with an extension": {payment.Adjustment{Kind: payment.TrialExtension, Days: 1, Plan: "pro", Months: 1},
			"/plan_id /months"},
		"no amount": {payment.Adjustment{Kind: payment.CreditGrant, Credit: payment.Money{Currency: "usd"}}, "/amount"},
		"less than nothing": {payment.Adjustment{Kind: payment.CreditGrant,
			Credit: payment.Money{Amount: -1, Currency: "usd"}}, "/amount"},
		"an unknown currency": {payment.Adjustment{Kind: payment.CreditGrant,
			Credit: payment.Money{Amount: 1, Currency: "xyz"}}, "/currency"},
		"a third decimal": {payment.Adjustment{Kind: payment.CreditGrant,
			Credit: payment.Money{Amount: 1, Currency: "kwd"}}, "/amount"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.a.Reason = "Sorry for the outage"
			assert.Equal(t, "wrong fields", pointers(tt.a.Check()), tt.pointers)
			tt.a.Reason = ""
			assert.That(t, strings.Contains(pointers(tt.a.Check()), "/reason"), "without a reason it passes")
		})
	}
}

// pointers returns the fields that an error is about.
func pointers(err error) string {
	var all []string
	if failure, isFault := err.(*fault.Error); isFault {
		for _, f := range failure.Fields {
			all = append(all, f.Pointer)
		}
	}
	return strings.Join(all, " ")
}

func TestASubscriptionIsAdjusted(t *testing.T) {
	free := &payment.Promotion{Coupon: "free", Discount: payment.Discount{Percent: 10000, Duration: "forever"}}
	onTrial := func() *payment.Customer {
		c := subscribed("trial", payment.Trialing)
		c.Subscription.TrialEnd = now.AddDate(0, 0, 3)
		return c
	}
	unknown := active("basic")
	unknown.Subscription.Item.Unrecognized = true
	for name, tt := range map[string]struct {
		customer *payment.Customer
		a        payment.Adjustment
		free     *payment.Promotion
		until    time.Time
		err      error
	}{
		"a trial ends later": {customer: onTrial(), a: payment.Adjustment{Kind: payment.TrialExtension, Days: 7},
			until: now.AddDate(0, 0, 10)},
		"unless it is over": {customer: active("trial"), a: payment.Adjustment{Kind: payment.TrialExtension, Days: 7},
			err: payment.ErrNotInTrial},
		"a paid one is free": {customer: active("basic"), a: payment.Adjustment{Kind: payment.Comp}, free: free},
		"of its own plan": {customer: active("basic"), a: payment.Adjustment{Kind: payment.Comp, Plan: "basic"},
			free: free},
		"and of no other": {customer: active("basic"), a: payment.Adjustment{Kind: payment.Comp, Plan: "pro"},
			free: free, err: payment.ErrSubscriptionExists},
		"an unknown one is not": {customer: unknown, a: payment.Adjustment{Kind: payment.Comp}, free: free,
			err: payment.ErrSubscriptionUnrecognized},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tt.customer.ChangeSubscription(owner, "key", nil, tt.a.Changes(tt.free), plans)
			require.ErrorIs(t, err, tt.err)
			if err != nil {
				return
			}
			op := tt.customer.Pending
			sent := op.Amendment(payment.Plan{})
			assert.That(t, sent.TrialUntil.Equal(tt.until) && sent.Promotion == tt.free && !sent.Resell, "%+v", sent)
			assert.That(t, !strings.Contains(recorded(&tt.customer.Log), "payment.adjusted"), "it is not settled yet")
			h := held(payment.Active)
			require.That(t, tt.customer.Settle(owner, "key", tt.customer.Look(),
				[]payment.GatewaySubscription{h}, plans), "not settled")
			assert.That(t, strings.Contains(recorded(&tt.customer.Log), "payment.adjusted"), "no event")
		})
	}
}

func TestAFreeSubscriptionNeedsNoCard(t *testing.T) {
	a := payment.Adjustment{Kind: payment.Comp, Plan: "trial"}
	free := payment.Promotion{Coupon: "free", Discount: payment.Discount{Percent: 10000, Duration: "forever"}}
	c := customer()
	_, err := c.Subscribe(owner, now, "key", a.Request(free), plans)
	require.NoError(t, err)
	sent := c.Pending.Order(trial)
	assert.That(t, sent.Promotion.Coupon == "free" && sent.TrialDays == 0 && sent.Quantity == 1, "%+v", sent)
}

func TestACreditIsRecorded(t *testing.T) {
	c := customer()
	usd := payment.Money{Amount: 500, Currency: "usd"}
	a := &payment.Adjustment{Kind: payment.CreditGrant, Credit: usd, Reason: "r"}
	require.NoError(t, c.RecordCredit(owner, a))
	data := c.Recorded()[0].Data
	assert.That(t, data["amount"] == int64(500) && data["currency"] == "usd" && data["reason"] == "r", "%v", data)
	require.ErrorIs(t, c.RecordCredit(member, a), payment.ErrRoleRequired)
}
