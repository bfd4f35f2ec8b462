package payment_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestOnlyOperatorsSeeThePaymentsOfAllWorkspaces(t *testing.T) {
	operator := owner
	operator.Operator = true
	require.NoError(t, payment.MayOperate(operator))
	operator.Ceiling = identity.Admin
	require.ErrorIs(t, payment.MayOperate(operator), identity.ErrForbidden)
	require.ErrorIs(t, payment.MayOperate(owner), identity.ErrForbidden)
}

func TestMonthlyRevenue(t *testing.T) {
	rate := func(amount int64, interval payment.Interval, count int) payment.SoldItem {
		return payment.SoldItem{Rate: payment.Rate{Ref: "p", Price: payment.Money{Amount: amount, Currency: "usd"},
			Interval: interval, IntervalCount: count}}
	}
	half := &payment.Discount{Percent: 5000, Duration: payment.DiscountForever}
	over := &payment.Discount{Percent: 5000, Duration: payment.DiscountRepeating, End: now}
	once := &payment.Discount{Percent: 5000, Duration: payment.DiscountOnce}
	free := &payment.Discount{Percent: 10000, Duration: payment.DiscountRepeating, End: now.Add(1)}
	sold := func(item payment.SoldItem) payment.Subscription { return payment.Subscription{Item: item, Quantity: 1} }
	monthly := rate(900, payment.Month, 1)
	less := func(d *payment.Discount) payment.Subscription {
		return payment.Subscription{Item: monthly, Quantity: 1, Discount: d}
	}
	in := func(status payment.Status) payment.Subscription {
		return payment.Subscription{Item: monthly, Quantity: 1, Status: status}
	}
	for name, tt := range map[string]struct {
		s    payment.Subscription
		want int64
	}{
		"a month":               {payment.Subscription{Item: monthly, Quantity: 3}, 2700},
		"three months":          {sold(rate(900, payment.Month, 3)), 300},
		"a year":                {payment.Subscription{Item: rate(12000, payment.Year, 1), Quantity: 2}, 2000},
		"a week":                {sold(rate(700, payment.Week, 1)), 3044},
		"two days":              {sold(rate(100, payment.Day, 2)), 1522},
		"a lasting discount":    {less(half), 450},
		"a discount that ended": {less(over), 900},
		"a discount once":       {less(once), 900},
		"free of charge":        {less(free), 0},
		"past due":              {in(payment.PastDue), 900},
		"a trial":               {in(payment.Trialing), 0},
		"unpaid":                {in(payment.Unpaid), 0},
		"paused":                {payment.Subscription{Item: monthly, Quantity: 1, Paused: true}, 0},
		"of an unstored price":  {payment.Subscription{Plan: "pro", Quantity: 2}, 5800},
		"of an unknown plan":    {payment.Subscription{Plan: "gone by", Quantity: 2}, 0},
		"with add-ons": {payment.Subscription{
			Item: monthly, Quantity: 1, Items: []payment.Item{
				{Rate: monthly.Rate, Quantity: 1}, {ID: "si_more", Rate: rate(500, payment.Month, 1).Rate, Quantity: 2},
				{ID: "si_usage", Rate: rate(1, payment.Month, 1).Rate, Quantity: 1, Metered: true},
			},
		}, 1900},
		"at an older price": {payment.Subscription{Plan: "pro", Item: monthly, Quantity: 1}, 900},
	} {
		if tt.s.Status == "" {
			tt.s.Status = payment.Active
		}
		assert.Equal(t, name, tt.s.Monthly(plans, now).Amount, tt.want)
	}
}

func TestAnOverview(t *testing.T) {
	old := now.AddDate(0, 0, -40)
	sub := func(plan payment.PlanID, status payment.Status, start time.Time) *payment.ListedSubscription {
		return &payment.ListedSubscription{Subscription: payment.Subscription{
			Plan: plan, Quantity: 1, Status: status, CreatedAt: start,
		}}
	}
	gone := sub("basic", payment.Canceled, old)
	gone.EndedAt = now.AddDate(0, 0, -2)
	goneTrial := sub("trial", payment.Canceled, old)
	goneTrial.TrialEnd, goneTrial.EndedAt = now.AddDate(0, 0, -26), now.AddDate(0, 0, -26)
	late := sub("euro", payment.PastDue, old)
	late.Due = 5000
	unpaid := sub("pro", payment.Unpaid, now)
	unpaid.Due = 2900
	soon := sub("trial", payment.Trialing, now)
	soon.TrialEnd = now.AddDate(0, 0, 6)
	later := sub("trial", payment.Trialing, now)
	later.TrialEnd = now.AddDate(0, 0, 8)
	o := payment.NewOverview(now)
	for _, s := range []*payment.ListedSubscription{
		sub("basic", payment.Active, old), sub("pro", payment.Active, now), late, unpaid, soon, later, gone, goneTrial,
		sub("basic", payment.Incomplete, now),
	} {
		o.Add(s, plans, now)
	}
	assert.EqualSlice(t, "the monthly revenue", o.Monthly,
		[]payment.Money{{Amount: 5000, Currency: "eur"}, {Amount: 3800, Currency: "usd"}})
	assert.EqualSlice(t, "overdue", o.Overdue,
		[]payment.Money{{Amount: 5000, Currency: "eur"}, {Amount: 2900, Currency: "usd"}})
	assert.That(t, o.Count[payment.Active] == 2 && o.Count[payment.Trialing] == 2 && o.Count[payment.PastDue] == 1 &&
		o.Count[payment.Unpaid] == 1 && o.Count[payment.Incomplete] == 1 && o.Count[payment.Canceled] == 0, "%v",
		o.Count)
	assert.Equal(t, "trials that end within a week", o.TrialsEnding, 1)
	assert.That(t, o.Started == 3 && o.Lost == 1, "%d of %d were lost", o.Lost, o.Started)
}
