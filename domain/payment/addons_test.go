package payment_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	pack = payment.Plan{ID: "pack", Name: "Pack", Price: payment.Money{Amount: 700, Currency: "usd"},
		Interval: payment.Month, IntervalCount: 1, PriceRef: "price_addon",
		Limits: map[string]int64{"messages": 50, "members": 2, "sources": 3}}
	storage = payment.Plan{ID: "storage", Price: payment.Money{Amount: 300, Currency: "usd"},
		Interval: payment.Month, IntervalCount: 1, PriceRef: "price_storage"}
)

// other returns an item that is not the plan's.
func other(id payment.ItemID, ref string, amount int64, quantity int) payment.Item {
	i := item(ref, amount, quantity)
	i.ID = id
	return i
}

// extended returns a customer with a plan, two of an add-on, and an item of someone else.
func extended() *payment.Customer {
	c := active("pro", card("pm_1", 1))
	plan := item("price_pro", 2900, 1)
	c.Subscription.Item = payment.SoldItem{ID: plan.ID, Rate: plan.Rate}
	c.Subscription.Items = []payment.Item{
		other("si_addon", "price_addon", 700, 2), other("si_deal", "price_deal", 100, 4),
		plan,
		{ID: "si_meter", Rate: payment.Rate{Ref: "price_meter"}, Metered: true}}
	return c
}

// orders returns changes of the quantities of an add-on.
func orders(addOn payment.Plan, quantity int) payment.Changes {
	return payment.Changes{AddOns: []payment.AddOnOrder{{ID: addOn.ID, Quantity: quantity, AddOn: &addOn}}}
}

// inOrder is what is sent for a quantity of the pack.
func inOrder(quantity int) []payment.ItemOrder {
	return []payment.ItemOrder{{Ref: "price_addon", Quantity: quantity}}
}

func TestAddOnsAreChangedAlone(t *testing.T) {
	quantity, retiredPack, euroPack, yearPack := 2, pack, pack, pack
	retiredPack.Retired, euroPack.Price.Currency, yearPack.Interval = true, "eur", payment.Year
	twice := orders(pack, 3)
	twice.AddOns = append(twice.AddOns, twice.AddOns[0])
	combined := orders(pack, 3)
	combined.Quantity = &quantity
	for name, tt := range map[string]struct {
		state  func(*payment.Subscription)
		change payment.Changes
		want   []payment.ItemOrder // nil: nothing is sent
		err    error
	}{
		"more":          {nil, orders(pack, 3), inOrder(3), nil},
		"less":          {nil, orders(pack, 1), inOrder(1), nil},
		"none any more": {nil, orders(pack, 0), inOrder(0), nil},
		"another one": {nil, orders(storage, 1),
			[]payment.ItemOrder{{Ref: "price_storage", Quantity: 1}}, nil},
		"as many as there are":       {nil, orders(pack, 2), nil, nil},
		"none of what there is none": {nil, orders(storage, 0), nil, nil},
		"less of what is not sold any more": {nil, orders(retiredPack, 1),
			inOrder(1), nil},
		"more of what is not sold any more": {nil, orders(retiredPack, 3), nil, payment.ErrAddOnUnavailable},
		"of another currency":               {nil, orders(euroPack, 3), nil, payment.ErrAddOnUnavailable},
		"of another period":                 {nil, orders(yearPack, 3), nil, payment.ErrAddOnUnavailable},
		"one twice":                         {nil, twice, nil, fault.ErrInvalid},
		"together with another change":      {nil, combined, nil, fault.ErrInvalid},
		"while it is paused": {func(s *payment.Subscription) { s.Paused = true }, orders(pack, 3), nil,
			payment.ErrSubscriptionPaused},
		"while a renewal is unpaid": {func(s *payment.Subscription) { s.Status = payment.PastDue }, orders(pack, 3), nil,
			payment.ErrRenewalUnpaid},
		"before another change": {func(s *payment.Subscription) {
			s.Pending = &payment.PendingChange{Plan: "basic", Quantity: 1, At: s.PeriodEnd}
		}, orders(pack, 3), nil, payment.ErrChangeScheduled},
		"of a subscription whose plan is unknown": {func(s *payment.Subscription) { s.Item.Unrecognized = true },
			orders(pack, 3), nil, payment.ErrSubscriptionUnrecognized},
	} {
		t.Run(name, func(t *testing.T) {
			c := extended()
			if tt.state != nil {
				tt.state(c.Subscription)
			}
			isDone, err := c.ChangeSubscription(owner, "k", nil, tt.change, plans)
			require.ErrorIs(t, err, tt.err)
			if isDone != (err == nil && tt.want == nil) || (c.Pending != nil) != (tt.want != nil) {
				t.Fatalf("done %t, %+v", isDone, c.Pending)
			}
			if tt.want != nil {
				a := c.Pending.Amendment(payment.Plan{})
				assert.That(t, cmp.Equal(a.AddOns, tt.want) && !a.Resell && a.Quantity == 0, "%+v", a)
				e := c.Recorded()
				assert.That(t, cmp.Equal(e[0].Data["add_ons"], []string{string(tt.change.AddOns[0].ID)}), "%+v", e)
			}
		})
	}
}

func TestOnlyTheItemsOfAddOnsChange(t *testing.T) {
	plan, deal := item("price_pro", 2900, 1), other("si_deal", "price_deal", 100, 4)
	own := other("si_addon", "price_addon", 700, 2)
	having := func(items ...payment.Item) payment.GatewaySubscription {
		return payment.GatewaySubscription{Status: payment.Active, Items: items}
	}
	scheduled := having(plan, own)
	scheduled.Schedule = ramp()
	unpaid := having(plan, own)
	unpaid.Status = payment.PastDue
	for name, tt := range map[string]struct {
		h      payment.GatewaySubscription
		orders []payment.ItemOrder
		want   []payment.ItemChange
		err    error
	}{
		"one more": {having(own, plan, deal), inOrder(3),
			[]payment.ItemChange{{ID: own.ID, Quantity: 3}, {ID: plan.ID}, {ID: deal.ID}}, nil},
		"none any more": {having(own, plan, deal), inOrder(0),
			[]payment.ItemChange{{ID: own.ID, Deleted: true}, {ID: plan.ID}, {ID: deal.ID}}, nil},
		"the first": {having(plan, deal), inOrder(1),
			[]payment.ItemChange{{ID: plan.ID}, {ID: deal.ID}, {Ref: "price_addon", Quantity: 1}}, nil},
		"it was made already": {having(plan, own), inOrder(2), nil, nil},
		"it was removed":      {having(plan), inOrder(0), nil, nil},
		"beside a schedule": {scheduled, inOrder(3), nil,
			payment.ErrChangeScheduled},
		"beside a debt": {unpaid, inOrder(3), nil, payment.ErrRenewalUnpaid},
	} {
		d, err := tt.h.Difference(payment.Amendment{Item: plan.ID, AddOns: tt.orders})
		assert.That(t, errors.Is(err, tt.err) && (err != nil || cmp.Equal(d, payment.Difference{Items: tt.want})),
			"%s: %+v, %v", name, d, err)
	}
}

func TestEntitlementsAreTheSumOfThePlanAndItsAddOns(t *testing.T) {
	c := extended()
	sold := payment.Plans{{ID: "pro", Limits: map[string]int64{"messages": 100, "members": 3}},
		{ID: "larger", Limits: map[string]int64{"messages": 500, "members": 30}}}
	base := quota.Amounts{Members: 1, Sources: 5, ChatTemplates: quota.Unlimited}
	g := sold.Entitling(c.Subscription, payment.Plans{pack, storage}, now, time.Hour)
	limits := sold.Limits(base, g)
	e := sold.Entitlements(c, g, now, time.Hour, limits, quota.Amounts{}, nil)
	for name, want := range map[string]int64{"messages": 200, "members": 7, "sources": 11,
		"chat_templates": quota.Unlimited} {
		got := e.Allowance(name).Limit
		assert.That(t, got == want, "%s: %d, want %d", name, got, want)
	}
	lifted, _ := errors.AsType[*quota.LimitError](limits.Check(quota.Amounts{Members: 34}, quota.Members))
	assert.That(t, lifted.Lifted != nil && lifted.Lifted.ID == "larger" && lifted.Limit == 7,
		"a change of the plan keeps the add-ons: %+v", lifted)
	c.Subscription.Status = payment.Unpaid
	g = sold.Entitling(c.Subscription, payment.Plans{pack}, now, time.Hour)
	assert.That(t, g == nil, "an unpaid add-on entitles: %+v", g)
}

func TestEachItemIsShownAsWhatItIs(t *testing.T) {
	var got []string
	for _, p := range extended().Subscription.Components(plans, payment.Plans{pack}) {
		name := ""
		if p.Product != nil {
			name = string(p.Product.ID)
		}
		got = append(got, string(p.Kind)+" "+name)
	}
	want := []string{"plan pro", "add_on pack", "other ", "usage "}
	assert.That(t, cmp.Equal(got, want), "%q", got)
}

func TestOtherItemsAreMirrored(t *testing.T) {
	see := func(c *payment.Customer, items ...payment.Item) string {
		h := held(payment.Active)
		h.Plan, h.PlanRef, h.Items = "pro", "price_pro", items
		seeSubscriptions(c, owner, []payment.GatewaySubscription{h}, plans)
		out := recorded(&c.Log)
		c.Log = customer().Log
		return out
	}
	plan, own := item("price_pro", 2900, 1), other("si_addon", "price_addon", 700, 2)
	c := customer()
	see(c, plan, own)
	refs := []string{c.Subscription.Items[0].Rate.Ref, c.Subscription.Items[1].Rate.Ref}
	assert.That(t, cmp.Equal(refs, []string{"price_addon", "price_pro"}), "%q", refs)
	previous := c.Revision
	events := see(c, own, plan)
	assert.That(t, events == "" && c.Revision == previous, "another order is a change: %s", events)
	own.Quantity = 3
	events = see(c, plan, own)
	assert.That(t, events == "subscription.changed " && c.Subscription.Items[0].Quantity == 3, "%s", events)
	c.Subscription.Items = nil // as an earlier version has stored it
	events = see(c, plan, own)
	assert.That(t, events == "" && len(c.Subscription.Items) == 2, "what is only stored now is an event: %s", events)
}

func TestAPlanOfAnotherPeriodWaitsForTheEndOfAddOns(t *testing.T) {
	yearly, same := payment.PlanID("year"), payment.PlanID("basic")
	_, err := extended().ChangeSubscription(owner, "k", nil, payment.Changes{Plan: &yearly}, plans)
	require.ErrorIs(t, err, payment.ErrPlanUnavailable)
	_, err = extended().ChangeSubscription(owner, "k", nil, payment.Changes{Plan: &same}, plans)
	require.NoError(t, err)
}

func TestAPreviewHoldsForItsAddOnsOnly(t *testing.T) {
	c := extended()
	plan := func(quantity int) *payment.Operation {
		op, err := c.PreviewChange(owner, orders(pack, quantity), plans)
		require.NoError(t, err)
		return op
	}
	offer := c.NewOffer(plan(3), payment.Preview{})
	require.NoError(t, offer.Check(c, plan(3)))
	require.ErrorIs(t, offer.Check(c, plan(4)), payment.ErrPreviewOutdated)
	same := plan(3)
	c.Subscription.Items[1].Quantity++ // someone else's item, which the next invoice bills, too
	require.ErrorIs(t, offer.Check(c, same), payment.ErrPreviewOutdated)
}

func TestAddOnsAreBoughtWithAPlan(t *testing.T) {
	more := payment.Plan{ID: "more", Price: payment.Money{Amount: 300, Currency: "usd"}, Interval: payment.Month,
		IntervalCount: 1, PriceRef: "price_more"}
	yearly, euros, retired := more, more, more
	yearly.Interval, euros.Price.Currency, retired.Retired = payment.Year, "eur", true
	order := func(p payment.Plan, quantity int) payment.AddOnOrder {
		return payment.AddOnOrder{ID: p.ID, Quantity: quantity, AddOn: &p}
	}
	free := &payment.Promotion{ID: "promo", Discount: payment.Discount{Percent: 10000}}
	for name, tt := range map[string]struct {
		orders []payment.AddOnOrder
		code   *payment.Promotion
		c      *payment.Customer
		want   error
		items  int
	}{
		"one":                    {[]payment.AddOnOrder{order(more, 2)}, nil, customer(card("pm_1", 0)), nil, 1},
		"none of it":             {[]payment.AddOnOrder{order(more, 0)}, nil, customer(card("pm_1", 0)), nil, 0},
		"of another period":      {[]payment.AddOnOrder{order(yearly, 1)}, nil, customer(card("pm_1", 0)), payment.ErrAddOnUnavailable, 0},
		"in another currency":    {[]payment.AddOnOrder{order(euros, 1)}, nil, customer(card("pm_1", 0)), payment.ErrAddOnUnavailable, 0},
		"that is not sold":       {[]payment.AddOnOrder{order(retired, 1)}, nil, customer(card("pm_1", 0)), payment.ErrAddOnUnavailable, 0},
		"named twice":            {[]payment.AddOnOrder{order(more, 1), order(more, 1)}, nil, customer(card("pm_1", 0)), fault.ErrInvalid, 0},
		"beside a discount only": {[]payment.AddOnOrder{order(more, 1)}, free, customer(), payment.ErrMethodRequired, 0},
	} {
		_, err := tt.c.Subscribe(owner, now, "key", payment.SubscribeRequest{Plan: "basic", Quantity: 1,
			AddOns:    tt.orders,
			Promotion: tt.code}, plans)
		assert.That(t, errors.Is(err, tt.want) && (err != nil || len(tt.c.Pending.Order(basic).AddOns) == tt.items),
			"%s: %v, %+v", name, err, tt.c.Pending)
	}
	t.Run("an incomplete purchase is returned only for the same add-ons", func(t *testing.T) {
		waiting := func() *payment.Customer {
			c := subscribed("basic", payment.Incomplete, card("pm_1", 0))
			c.Subscription.Item = payment.SoldItem{ID: "si_1"}
			c.Subscription.Items = []payment.Item{{ID: "si_1", Quantity: 1}, {ID: "si_2", Quantity: 2,
				Rate: payment.Rate{Ref: "price_more"}}}
			return c
		}
		for quantity, want := range map[int]bool{0: false, 1: false, 2: true} {
			isSame, err := waiting().Subscribe(owner, now, "another", payment.SubscribeRequest{Plan: "basic",
				Quantity: 1,
				AddOns:   []payment.AddOnOrder{order(more, quantity)}}, plans)
			assert.That(t, err == nil && isSame == want, "%d: %v, %v", quantity, isSame, err)
		}
	})
}
