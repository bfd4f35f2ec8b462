package payment_test

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestDiscountOff(t *testing.T) {
	usd := func(amount int64) payment.Money { return payment.Money{Amount: amount, Currency: "usd"} }
	for name, tt := range map[string]struct {
		discount *payment.Discount
		amount   int64
		want     int64
	}{
		"none":                      {nil, 900, 0},
		"a percentage":              {&payment.Discount{Percent: 1000}, 900, 90},
		"half a cent is rounded up": {&payment.Discount{Percent: 5000}, 901, 451},
		"a fraction of a percent":   {&payment.Discount{Percent: 1250}, 1000, 125},
		"everything": {&payment.Discount{Percent: 10000}, 99_999_999 * 10_000,
			99_999_999 * 10_000},
		"an amount":                          {&payment.Discount{Amount: usd(500)}, 900, 500},
		"never more than what is to be paid": {&payment.Discount{Amount: usd(500)}, 300, 300},
		"nothing of a credit":                {&payment.Discount{Percent: 1000}, -900, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := tt.discount.Deduction(tt.amount)
			assert.That(t, got == tt.want, "Off(%d) = %d, want %d", tt.amount, got, tt.want)
		})
	}
}

func TestDiscountsEnd(t *testing.T) {
	start := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	d := payment.Discount{Percent: 5000, Duration: payment.DiscountRepeating, Months: 3}.Begin("di", start)
	want := time.Date(2026, 4, 30, 12, 0, 0, 0, time.UTC)
	assert.That(t, d.End.Equal(want) && !d.Ended(want.Add(-1)) && d.Ended(want), "%+v, want an end at %s", d, want)
	first := (payment.Discount{Percent: 5000, Duration: payment.DiscountOnce}).Begin("di", start)
	assert.That(t, !first.Ended(start.AddDate(9, 0, 0)), "%+v has ended", first)
}

func TestPromotionCodesAreLimited(t *testing.T) {
	limits := payment.CardLimits{InvalidCodesPerHour: 2}
	c := &payment.Customer{Workspace: owner.Workspace, ID: "cus"}
	try := func(delay time.Duration) error {
		by := owner
		by.At = by.At.Add(delay)
		return c.BeginPromotion(by, limits)
	}
	for _, delay := range []time.Duration{0, time.Minute} {
		require.NoError(t, try(delay))
	}
	err := try(2 * time.Minute)
	said, ok := errors.AsType[*fault.Error](err)
	assert.That(t, errors.Is(err, payment.ErrPromotionLimit) && ok && said.RetryAfter == 58*time.Minute,
		"error = %v, want to wait 58 minutes", err)
	valid := owner
	valid.At = valid.At.Add(time.Minute)
	c.EndPromotion(valid)
	assert.NoError(t, try(2*time.Minute))
	assert.NoError(t, try(61*time.Minute))
	assert.ErrorIs(t, c.BeginPromotion(member, limits), payment.ErrRoleRequired)
	limits.InvalidCodesPerHour = 0
	assert.NoError(t, try(61*time.Minute))
}

// tenOff is a promotion for TENOFF.
var tenOff = &payment.Promotion{ID: "promo", Code: "TENOFF", Discount: payment.Discount{Percent: 1000,
	Duration: payment.DiscountForever}}

func TestSubscribeWithACode(t *testing.T) {
	plan := payment.Plan{ID: "basic", Price: payment.Money{Amount: 900, Currency: "usd"}, Interval: payment.Month,
		IntervalCount: 1}
	plans := payment.Plans{plan}
	customer := func(s *payment.Subscription) *payment.Customer {
		return &payment.Customer{Workspace: owner.Workspace, ID: "cus", Subscription: s}
	}
	incomplete := &payment.Subscription{ID: "sub", Plan: "basic", Quantity: 1, Status: payment.Incomplete, Key: "first",
		Code: "TENOFF"}
	free := &payment.Promotion{ID: "promo", Code: "FREE", Discount: payment.Discount{Percent: 10000,
		Duration: payment.DiscountOnce}}
	request := func(code string, p *payment.Promotion) payment.SubscribeRequest {
		return payment.SubscribeRequest{Plan: "basic", Quantity: 1, Code: code, Promotion: p}
	}
	for name, tt := range map[string]struct {
		customer *payment.Customer
		request  payment.SubscribeRequest
		uses     bool
		again    bool
		err      error
	}{
		"a code that was not looked up": {customer(nil), request("TENOFF", nil), true, false, payment.ErrPending},
		"what is not free requires a method": {customer(nil), request("TENOFF", tenOff), true, false,
			payment.ErrMethodRequired},
		"what is free does not":               {customer(nil), request("FREE", free), true, false, nil},
		"the incomplete one has the code":     {customer(incomplete), request("tenoff", nil), false, true, nil},
		"the incomplete one has another code": {customer(incomplete), request("FREE", free), true, false, nil},
		"without a code it is another one": {customer(incomplete), request("", nil), false, false,
			payment.ErrMethodRequired},
		"a live subscription needs no code": {customer(&payment.Subscription{ID: "sub", Status: payment.Active}),
			request("FREE", nil), false, false, payment.ErrSubscriptionExists},
		"an operation in progress needs no code": {&payment.Customer{Workspace: owner.Workspace, ID: "cus",
			Pending: &payment.Operation{}}, request("FREE", nil), false, false, payment.ErrPending},
	} {
		t.Run(name, func(t *testing.T) {
			uses := tt.customer.UsesCode("key", tt.request)
			assert.Equal(t, "UsesCode", uses, tt.uses)
			isRepeat, err := tt.customer.Subscribe(owner, owner.At, "key", tt.request, plans)
			require.That(t, isRepeat == tt.again && errors.Is(err, tt.err),
				"Subscribe = %v, %v; want %v, %v", isRepeat, err, tt.again, tt.err)
			op := tt.customer.Pending
			assert.That(t, err != nil || isRepeat || op.Order(plan).Promotion == tt.request.Promotion, "%+v", op)
		})
	}
}

func TestChangeWithACode(t *testing.T) {
	plans := payment.Plans{
		{ID: "basic", Price: payment.Money{Amount: 900, Currency: "usd"}, Interval: payment.Month, IntervalCount: 1},
		{ID: "pro", Price: payment.Money{Amount: 2900, Currency: "usd"}, Interval: payment.Month, IntervalCount: 1},
	}
	pro := payment.PlanID("pro")
	for name, tt := range map[string]struct {
		code    string // that the subscription has
		pending *payment.PendingChange
		changes payment.Changes
		uses    bool
		done    bool
		err     error
		plan    payment.PlanID // of the amendment, if it changes the plan
	}{
		"a code": {"", nil, payment.Changes{Code: "TENOFF", Promotion: tenOff}, true, false, nil, ""},
		"a code and a plan": {"", nil, payment.Changes{Code: "TENOFF", Promotion: tenOff, Plan: &pro}, true,
			false, nil, "pro"},
		"a code that it has": {"tenoff", nil, payment.Changes{Code: "TENOFF"}, false, true, nil, ""},
		"a code that was not looked up": {"", nil, payment.Changes{Code: "TENOFF"}, true, false, payment.ErrPending,
			""},
		"a code begins with what is next": {"", &payment.PendingChange{Plan: "basic", Quantity: 1},
			payment.Changes{Code: "TENOFF", Promotion: tenOff}, true, false, nil, "basic"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &payment.Customer{Workspace: owner.Workspace, ID: "cus", Subscription: &payment.Subscription{
				ID: "sub", Plan: "basic", Quantity: 2, Status: payment.Active, Code: tt.code, Pending: tt.pending,
			}}
			_, _, uses := c.ChangeUsesCode(tt.changes)
			assert.Equal(t, "ChangeUsesCode", uses, tt.uses)
			done, err := c.ChangeSubscription(owner, "key", nil, tt.changes, plans)
			require.That(t, done == tt.done && errors.Is(err, tt.err),
				"ChangeSubscription = %v, %v; want %v, %v", done, err, tt.done, tt.err)
			if err != nil || done {
				return
			}
			a := c.Pending.Amendment(plans[0])
			assert.That(t, a.Promotion == tenOff && (a.Resell || a.AtRenewal) == (tt.plan != "") && (tt.plan == "" ||
				c.Pending.Plan == tt.plan), "%+v", c.Pending)
		})
	}
}
