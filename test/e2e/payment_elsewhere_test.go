package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// TestASubscriptionThatSomeoneElseChanged changes a subscription at Stripe and then by the API.
func TestASubscriptionThatSomeoneElseChanged(t *testing.T) {
	api, stripe := newStripe(t)
	s := start(t, "sqlite", stripe)
	ann := s.user(t, "owner", "--operator")
	customer := ann.customer(t)
	ann.create(t, payments+"/subscriptions", object{"plan_id": "pro", "quantity": 2, "payment_method_id": api.AddCard(
		customer, "4242")})
	id := api.Live(customer)[0]
	ann.get(t, mine).has(t, map[string]string{"plan.price.amount": "2900", "ends_at": "null"})
	expire := func() { // the mirror, as a minute does
		s.sql(t, `UPDATE payment_customers SET subscription_at = 1`)
	}
	t.Run("in the portal: the end is shown, stays and can be undone", func(t *testing.T) {
		end := api.Subscriptions(customer)[0].PeriodEnd
		api.CancelAt(id, end)
		expire()
		ann.do(t, "PATCH", mine, object{"plan_id": "basic"}).problem(t, 409, "subscription_ends")
		ann.do(t, "POST", mine+"/preview", object{"plan_id": "basic"}).problem(t, 409, "subscription_ends")
		ann.get(t, mine).has(t, map[string]string{
			"cancel_at_period_end": "true", "ends_at": end.Format("2006-01-02T15:04:05.000Z"), "plan_id": "pro",
		})
		ann.do(t, "PATCH", mine, object{"quantity": 3}).is(t, 200).has(t, map[string]string{
			"cancel_at_period_end": "true", "quantity": "3",
		})
		ann.do(t, "PATCH", mine, object{"cancel_at_period_end": false}).is(t, 200)
		ann.get(t, mine).has(t, map[string]string{"cancel_at_period_end": "false", "ends_at": "null"})
		api.Advance(31*24*time.Hour + time.Hour)
		if live := api.Live(customer); len(live) != 1 {
			t.Errorf("it ended: %v", live)
		}
	})
	t.Run("to a price that is not a plan's: the plan is unknown, and its limits end", func(t *testing.T) {
		api.Sell("price_deal", 500)
		api.MovePrice(id, "price_deal")
		expire()
		ann.get(t, mine).has(t, map[string]string{"plan_id": "null", "plan": "null", "status": "active"})
		ann.get(t, "/api/payments/entitlements").has(t, map[string]string{"plan_id": "null"})
		ann.do(t, "PATCH", mine, object{"quantity": 4}).problem(t, 409, "subscription_unrecognized")
		ann.do(t, "POST", previewPath, object{"quantity": 4}).problem(t, 409, "subscription_unrecognized")
		ann.do(t, "POST", adjustmentsPath, ann.gives("comp", nil)).problem(t, 409, "subscription_unrecognized")
		want := ann.workspace + ": the plan of " + id + " is unknown"
		out := s.must(t, "doctor", "payments")
		if !strings.Contains(out, want) || !strings.Contains(out, "(price_deal)") {
			t.Error(out)
		}
		ann.do(t, "PATCH", mine, object{"cancel_at_period_end": true}).is(t, 200)
		ann.do(t, "PATCH", mine, object{"cancel_at_period_end": false}).is(t, 200)
	})
	t.Run("with an item that cannot be told from the one of the plan", func(t *testing.T) {
		api.AddItem(id, "price_basic", 1)
		api.MovePrice(id, "price_pro")
		expire()
		ann.do(t, "PATCH", mine, object{"quantity": 5}).is(t, 200).has(t, map[string]string{ // what was sold decides
			"items.0.kind": "plan", "items.1.kind": "other", "items.1.name": "null", "items.1.quantity": "1"})
		charges := len(api.Charges())
		ann.do(t, "PATCH", mine, object{"plan_id": "basic"}).problem(t, 409, "subscription_unrecognized")
		if n := len(api.Charges()); n != charges {
			t.Errorf("%d charges, before %d", n, charges)
		}
	})
	t.Run("with a schedule: all that it changes later is shown in order, also after a change that keeps it",
		func(t *testing.T) {
			ann.do(t, "DELETE", mine, nil).is(t, 204)
			ann.create(t, payments+"/subscriptions", object{"plan_id": "pro", "quantity": 2})
			id := api.Live(customer)[0]
			api.Plan(id, []string{"price_basic", "price_deal", "price_pro"}, 2, false)
			expire()
			end := api.Subscriptions(customer)[len(api.Subscriptions(customer))-1].PeriodEnd
			day := func(months int) string { return end.AddDate(0, months, 0).Format("2006-01-02") }
			check := func(quantity string) {
				t.Helper()
				got := ann.get(t, mine).has(t, map[string]string{
					"plan_id": "pro", "quantity": quantity, "pending_change.plan_id": "basic",
					"pending_change.quantity": quantity, "later_changes.0.plan_id": "null",
					"later_changes.0.quantity": quantity,
					"later_changes.1.plan_id":  "pro", "later_changes.1.quantity": quantity,
					"later_changes.2": "",
				})
				if end.Day() > 28 { // whose months end on other days
					return
				}
				for place, date := range map[string]string{
					"pending_change.at": day(0), "later_changes.0.at": day(2), "later_changes.1.at": day(4),
				} {
					if at := got.at(place); !strings.HasPrefix(at, date) {
						t.Errorf("%s is %s, want %s", place, at, date)
					}
				}
			}
			check("2")
			ann.do(t, "PATCH", mine, object{"quantity": 5}).is(t, 200)
			check("5")
		})
	t.Run("a draft is neither listed nor paid", func(t *testing.T) {
		draft := api.Draft(customer, payment.Money{Amount: 500000, Currency: "eur"})
		s.sql(t, `UPDATE payment_customers SET invoices_at = 1`)
		ann.do(t, "POST", payments+"/invoices/"+draft+"/pay", object{}).problem(t, 404, "invoice_not_found")
		ann.get(t, payments+"/invoices?status=draft").has(t, map[string]string{"data": "[]"})
	})
	t.Run("a draft in another currency refuses what is sold", func(t *testing.T) {
		ann.do(t, "POST", packPath, object{"credit_pack_id": "pack"}).problem(t, 409, "currency_conflict")
		ann.do(t, "DELETE", mine, nil).is(t, 204)
		ann.do(t, "POST", payments+"/subscriptions", object{"plan_id": "pro"}).problem(t, 409, "currency_conflict")
		const back = "https://app.example.com"
		ann.do(t, "POST", checkoutPath, object{"plan_id": "pro", "success_url": back, "cancel_url": back}).
			problem(t, 409, "currency_conflict")
	})
}
