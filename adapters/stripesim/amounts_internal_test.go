package stripesim

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

func TestAllAmountsWithThreeDecimalsEndWithAZero(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	plan := func(amount int64) payment.Plan {
		price := payment.Money{Amount: amount, Currency: "kwd"}
		return payment.Plan{Price: price, Interval: payment.Month, IntervalCount: 1}
	}
	meteredPlan := plan(0)
	meteredPlan.Metered = &payment.MeteredPrice{Feature: "messages", Amount: 3}
	u := &subscription{
		Start: start, End: start.AddDate(0, 1, 0), Status: "active", Customer: "cus_1",
		terms: terms{Plan: plan(5120), Quantity: 1, Meter: &meteredPlan}, AutomaticTax: true,
		Discount: &discount{Discount: payment.Discount{Percent: 3333}},
	}
	a, err := New(Config{}).open("", settings{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a.customers = append(a.customers, &customer{ID: "cus_1"})
	a.usage = append(a.usage, &meterEvent{Customer: "cus_1", Feature: "messages", Value: 7, At: start})
	change := *u
	due := change.change(terms{Plan: plan(9130), Quantity: 1}, start.Add(100*time.Hour), start.Add(100*time.Hour))
	for name, amount := range map[string]int64{
		"a tax": a.tax(u, 5130), "a deduction": u.deduction(start), "usage": a.used(u, start, u.End).Amount,
		"a change": due,
	} {
		if amount == 0 || amount%10 != 0 {
			t.Errorf("%s is %d", name, amount)
		}
	}
}
