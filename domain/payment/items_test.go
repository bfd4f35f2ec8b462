package payment_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	begins, ends = now.AddDate(0, 0, -3), now.AddDate(0, 0, 27)

	addOn = payment.Item{ID: "si_addon", Rate: monthly("price_addon", 700), Quantity: 5, PeriodStart: begins,
		PeriodEnd: ends}
	meter = payment.Item{ID: "si_meter", Rate: monthly("price_messages", 10), Metered: true, PeriodStart: begins,
		PeriodEnd: ends}
)

func monthly(ref string, amount int64) payment.Rate {
	return payment.Rate{Ref: ref, Price: payment.Money{Amount: amount, Currency: "usd"}, Interval: payment.Month,
		IntervalCount: 1}
}

// item returns the item of a plan.
func item(ref string, amount int64, quantity int) payment.Item {
	return payment.Item{ID: "si_plan", Rate: monthly(ref, amount), Quantity: quantity, PeriodStart: begins,
		PeriodEnd: ends}
}

// holding returns an active subscription with items, as a gateway has it.
func holding(plan payment.PlanID, items ...payment.Item) payment.GatewaySubscription {
	return payment.GatewaySubscription{ID: "sub_1", Plan: plan, Status: payment.Active, Items: items, CreatedAt: begins}
}

// sold returns an active subscription that notes at which price it was sold as a plan.
func sold(plan payment.PlanID, ref string, items ...payment.Item) payment.GatewaySubscription {
	h := holding(plan, items...)
	h.PlanRef = ref
	return h
}

func TestThePlansItemIsFoundByItsPrice(t *testing.T) {
	other := func(ref string) payment.Item { i := item(ref, 700, 3); i.ID = "si_other"; return i }
	old, cheap := item("price_old", 500, 1), item("price_basic", 900, 1)
	for name, tt := range map[string]struct {
		held   payment.GatewaySubscription
		stored string
		item   payment.ItemID
		plan   payment.PlanID
	}{
		"a configured price, behind an add-on": {holding("", addOn, cheap), "", "si_plan", "basic"},
		"and before one":                       {holding("", cheap, addOn), "", "si_plan", "basic"},
		"a metered item is never it":           {holding("basic", meter, cheap), "", "si_plan", "basic"},
		"a configured price rather than a stored one": {
			holding("", other("price_old"), item("price_pro", 2900, 1)), "price_old", "si_plan", "pro"},
		"the price that was stored last":            {holding("basic", addOn, old), "price_old", "si_plan", "basic"},
		"the price at which it was sold":            {sold("basic", "price_old", addOn, old), "", "si_plan", "basic"},
		"the price at which it was sold last":       {sold("pro", "price_old", old), "price_basic", "si_plan", "pro"},
		"not at another price than it was sold":     {sold("basic", "price_basic", old), "", "", ""},
		"not at another price than was stored":      {holding("basic", old), "price_older", "", ""},
		"not the only one, if its plan has another": {holding("basic", meter, old), "", "", ""},
		"the only one of a plan without a price":    {holding("unpriced", meter, old), "", "si_plan", "unpriced"},
		"not the only one, if no plan was sold":     {holding("", old), "", "", ""},
		"not one of two unknown ones":               {holding("basic", addOn, old), "", "", ""},
		"of two plans' prices the stored one":       {holding("", other("price_pro"), cheap), "price_basic", "si_plan", "basic"},
		"of two plans' prices that which was sold":  {holding("basic", other("price_pro"), cheap), "", "si_plan", "basic"},
		"of two plans' prices none":                 {holding("", other("price_pro"), cheap), "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := tt.held
			h.Resolve(append(slices.Clone(plans), payment.Plan{ID: "unpriced"}), tt.stored, "")
			assert.That(t, h.Item == tt.item && h.Plan == tt.plan && h.PeriodEnd.Equal(ends),
				"item %q of plan %q, %+v", h.Item, h.Plan, h)
		})
	}
	t.Run("the plan of the price that was stored last, not what was sold once", func(t *testing.T) {
		h := holding("basic", item("price_old", 2500, 1)) // it was sold as basic, and moved to pro elsewhere
		h.Resolve(plans, "price_old", "pro")
		assert.That(t, h.Item == "si_plan" && h.Plan == "pro", "item %q of plan %q", h.Item, h.Plan)
		h = holding("basic", item("price_other", 2500, 1))
		h.Resolve(plans, "price_old", "pro")
		assert.That(t, h.Item == "" && h.Plan == "", "another price is the item %q of plan %q", h.Item, h.Plan)
		h = holding("basic", item("price_old", 2500, 1)) // mirrored by a version that did not store the price
		h.Resolve(plans, "", "basic")
		assert.That(t, h.Item == "si_plan" && h.Plan == "basic", "item %q of plan %q", h.Item, h.Plan)
	})
	t.Run("at an unknown price it has no plan, until it has a known one again", func(t *testing.T) {
		c := active("basic")
		see := func(h payment.GatewaySubscription, plans payment.Plans) *payment.Subscription {
			seeSubscriptions(c, owner, []payment.GatewaySubscription{h}, plans)
			return c.Subscription
		}
		movedSubscription := sold("basic", "price_once", item("price_pro", 2900, 2)) // by someone else, to pro
		see(movedSubscription, plans)
		s := see(sold("basic", "price_once", item("price_deal", 700, 2)), plans)
		assert.That(t, s.Plan == "" && plans.Entitling(s, nil, now, 0) == nil && s.Item.Prices == "price_deal",
			"%+v", s)
		for _, ch := range []payment.Changes{
			{Quantity: new(int)}, {Plan: &pro.ID}, {EndTrial: true}, {Pause: new(bool)}, {Code: "TENOFF"},
		} {
			_, err := c.ChangeSubscription(owner, "key", nil, ch, plans)
			require.ErrorIs(t, err, payment.ErrSubscriptionUnrecognized)
		}
		c.Subscription.CancelAtPeriodEnd = true
		_, err := c.ChangeSubscription(owner, "key", nil, payment.Changes{CancelAtPeriodEnd: new(bool)}, plans)
		require.NoError(t, err)
		c.Pending = nil
		repricedPlans := slices.DeleteFunc(slices.Clone(plans), func(p payment.Plan) bool { return p.ID == "pro" })
		s = see(movedSubscription, repricedPlans)
		assert.That(t, s.Plan == "pro" && !s.Item.Unrecognized && s.Quantity == 2, "the last known price: %+v", s)
	})
	t.Run("the mirror remembers the price and the plan", func(t *testing.T) {
		c := active("basic")
		see := func(h payment.GatewaySubscription) payment.SoldItem {
			seeSubscriptions(c, owner, []payment.GatewaySubscription{h}, plans)
			return c.Subscription.Item
		}
		see(holding("", item("price_basic", 900, 1)))
		subscription := see(holding("", addOn, item("price_basic", 900, 1)))
		assert.That(t, subscription.ID == "si_plan" && c.Subscription.Plan == "basic" && c.Subscription.Quantity == 1,
			"%+v", c.Subscription)
		unclear := holding("", addOn)
		unclear.CancelAt = ends
		subscription = see(unclear)
		s := c.Subscription
		assert.That(t, subscription.Unrecognized && subscription.Rate.Ref == "price_basic" && s.Quantity == 1 &&
			s.EndsAt.Equal(ends) && s.CancelAtPeriodEnd, "%+v", s)
		_, err := c.ChangeSubscription(owner, "key", nil, payment.Changes{Quantity: new(int)}, plans)
		require.ErrorIs(t, err, payment.ErrSubscriptionUnrecognized)
	})
}

func TestAnEndIsSeenByEitherField(t *testing.T) {
	later := ends.AddDate(0, 11, 0)
	for name, tt := range map[string]struct {
		change func(*payment.GatewaySubscription)
		at     time.Time
		period bool
	}{
		"none":                        {func(*payment.GatewaySubscription) {}, time.Time{}, false},
		"at the end of the period":    {func(h *payment.GatewaySubscription) { h.CancelAtPeriodEnd = true }, ends, true},
		"at a time that is that":      {func(h *payment.GatewaySubscription) { h.CancelAt = ends }, ends, true},
		"at a later time":             {func(h *payment.GatewaySubscription) { h.CancelAt = later }, later, false},
		"with a schedule":             {func(h *payment.GatewaySubscription) { h.Schedule = term(later, h.Items...) }, later, false},
		"with a schedule that is due": {func(h *payment.GatewaySubscription) { h.Schedule = term(ends, h.Items...) }, ends, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := holding("basic", item("price_basic", 900, 1))
			tt.change(&h)
			c := customer()
			seeSubscriptions(c, owner, []payment.GatewaySubscription{h}, plans)
			s := c.Subscription
			assert.That(t, s.EndsAt.Equal(tt.at) && s.CancelAtPeriodEnd == tt.period, "%+v", s)
		})
	}
}

// term returns a schedule of someone else that ends the subscription.
func term(now time.Time, items ...payment.Item) *payment.Schedule {
	return &payment.Schedule{Ends: true, Phases: []payment.Phase{{Start: begins, End: now, Items: items}}}
}

func TestWhatIsScheduledIsKnownByItsPrice(t *testing.T) {
	h := holding("basic", addOn, item("price_basic", 900, 1))
	next := item("price_pro", 2900, 2)
	next.ID = ""
	back := item("price_basic", 900, 3)
	h.Schedule = &payment.Schedule{Phases: []payment.Phase{
		{Start: begins, End: ends, Items: h.Items},
		{Start: ends, End: ends.AddDate(1, 0, 0), Items: []payment.Item{addOn, next}},
		{Start: ends.AddDate(1, 0, 0), End: ends.AddDate(2, 0, 0), Items: []payment.Item{next}}, // without the add-on
		{Start: ends.AddDate(2, 0, 0), Items: []payment.Item{back}},
	}}
	c := customer()
	seeSubscriptions(c, owner, []payment.GatewaySubscription{h}, plans)
	want := &payment.PendingChange{Plan: "pro", Quantity: 2, At: ends, Elsewhere: true,
		Next: &payment.PendingChange{Plan: "basic", Quantity: 3, At: ends.AddDate(2, 0, 0), Elsewhere: true}}
	d := cmp.Diff(want, c.Subscription.Pending)
	assert.That(t, d == "", "%v", d)
}

func TestTheSeatsOfAnOldPriceKeepIt(t *testing.T) {
	seats := func(n int) payment.Changes { return payment.Changes{Quantity: &n} }
	same, other := payment.PlanID("basic"), payment.PlanID("pro")
	for name, tt := range map[string]struct {
		rate    payment.Rate
		changes payment.Changes
		sold    string
		renewal bool
	}{
		"more seats":                 {monthly("price_old", 500), seats(3), "", false},
		"fewer seats":                {monthly("price_old", 500), seats(1), "", true},
		"the plan that it has":       {monthly("price_old", 500), payment.Changes{Plan: &same, Quantity: seats(3).Quantity}, "", false},
		"another plan, by its price": {monthly("price_old", 500), payment.Changes{Plan: &other}, "price_pro", false},
		"another plan that costs less than what is paid": {monthly("price_dear", 9900), payment.Changes{Plan: &other},
			"price_pro", true},
	} {
		t.Run(name, func(t *testing.T) {
			c := active("basic")
			c.Subscription.Quantity, c.Subscription.Item = 2, payment.SoldItem{ID: "si_plan", Rate: tt.rate}
			_, err := c.ChangeSubscription(owner, "key", nil, tt.changes, plans)
			require.NoError(t, err)
			plan, err := c.Pending.Bought(plans)
			require.NoError(t, err)
			a := c.Pending.Amendment(*plan)
			assert.That(t, a.Item == "si_plan" && a.Plan.PriceRef == tt.sold && a.AtRenewal == tt.renewal &&
				(tt.changes.Quantity != nil || a.Quantity == 0), "%+v", a)
		})
	}
}
