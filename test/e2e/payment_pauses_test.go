package e2e

import (
	"strings"
	"testing"
)

// withUsage adds a plan to soldSettings that is billed by usage.
func withUsage(d *deployment) {
	const plan = `trial_days: 14}, {id: used, name: Used, price: {amount: 500, currency: usd}, interval: month,
		metered: {feature: emails, amount: 3}}]`
	configured("orgs:\n  - slug: default\n    " + strings.Replace(soldSettings, "trial_days: 14}]", plan, 1))(d)
	knowsWebhookKey(d)
}

func TestPausesReasonsAndMeteredPrices(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, withUsage)
		ann := s.user(t, "owner")
		ann.card(t, cardNumber)
		ann.subscribe(t, "basic")
		pausedValues := object{"paused": true}
		t.Run("a paused subscription entitles until the end of what was paid", func(t *testing.T) {
			end := ann.get(t, mine).at("current_period_end")
			ann.do(t, "PATCH", mine, object{"paused": true, "plan_id": "pro"}).problem(t, 422, "invalid_fields")
			ann.do(t, "PATCH", mine, pausedValues).is(t, 200).has(t, map[string]string{
				"paused": "true", "paid_until": end, "entitled": "true", "status": "active",
			})
			ann.do(t, "PATCH", mine, object{"plan_id": "pro"}).problem(t, 409, "subscription_paused")
			ann.do(t, "POST", previewPath, object{"plan_id": "pro"}).problem(t, 409, "subscription_paused")
			s.must(t, "payments", "sandbox", "advance", "40d")
			s.await(t, func() bool { return ann.get(t, mine).at("current_period_start") == end })
			ann.get(t, mine).has(t, map[string]string{"paused": "true", "paid_until": end, "entitled": "false"})
			ann.get(t, payments+"/entitlements").has(t, map[string]string{"entitled": "false", "plan_id": "null"})
		})
		t.Run("it is paid for when it is resumed", func(t *testing.T) {
			ann.makeDefault(t, ann.card(t, "4000000000000341"))
			ann.do(t, "PATCH", mine, object{"paused": false}).problem(t, 402, "card_declined")
			ann.get(t, mine).has(t, map[string]string{"paused": "true", "entitled": "false"})
			ann.makeDefault(t, ann.card(t, cardNumber))
			ann.do(t, "PATCH", mine, object{"paused": false}).is(t, 200).has(t, map[string]string{
				"paused": "false", "paid_until": "null", "entitled": "true",
			})
			ann.get(t, payments+"/invoices").has(t, map[string]string{
				"data.0.amount_paid.amount": "900", "data.1.status": "void", "data.2.amount_paid.amount": "900",
			})
		})
		t.Run("a reason is shown, and its comment is in no event", func(t *testing.T) {
			reasons := object{"cancellation_feedback": "unused", "cancellation_comment": "No one wants it."}
			ann.do(t, "PATCH", mine, reasons).problem(t, 422, "invalid_fields")
			reasons["cancel_at_period_end"] = true
			ann.do(t, "PATCH", mine, reasons).is(t, 200).has(t, map[string]string{
				"cancellation_feedback": "unused", "cancellation_comment": "No one wants it.",
			})
			ann.do(t, "PATCH", mine, pausedValues).problem(t, 409, "subscription_ends")
			ann.do(t, "PATCH", mine, object{"cancel_at_period_end": false}).is(t, 200).has(t, map[string]string{
				"cancellation_feedback": "null", "cancellation_comment": "null",
			})
			ann.do(t, "DELETE", mine+"?cancellation_feedback=bored", nil).problem(t, 400, "invalid_parameter")
			ann.do(t, "DELETE", mine+"?cancellation_feedback=other&cancellation_comment=Bye", nil).is(t, 204)
			ann.get(t, "/api/events?type=subscription.ended").has(t, map[string]string{
				"data.0.data.cancellation_feedback": "other",
			})
			if n := s.only(t, `SELECT COUNT(*) FROM recorded_events WHERE data LIKE '%Bye%' OR data LIKE '%No one%'`); n != "0" {
				t.Errorf("%s events have the comment", n)
			}
		})
		t.Run("usage is billed when the period ends", func(t *testing.T) {
			ann.get(t, payments+"/plans").has(t, map[string]string{
				"data.0.metered_price": "null", "data.3.metered_price.feature": "emails",
				"data.3.metered_price.unit_price.amount": "3",
			})
			ann.subscribe(t, "used")
			usageOf := func(quantity int, key string) {
				t.Helper()
				ann.do(t, "POST", payments+"/usage", object{"feature": "emails", "quantity": quantity,
					"idempotency_key": key}).is(t, 200)
				s.await(t, func() bool { return s.only(t, `SELECT COUNT(*) FROM usage_events`) == "0" })
			}
			usageOf(100, "one")
			usageOf(100, "one")
			usageOf(11, "two")
			ann.get(t, payments+"/entitlements").has(t, map[string]string{"limits.emails.used": "111"})
			ann.do(t, "PATCH", mine, pausedValues).problem(t, 422, "invalid_fields")
			ann.do(t, "POST", previewPath, object{"quantity": 2}).is(t, 200).
				has(t, map[string]string{"due_next.amount": "1333", "due_today.currency": "usd"})
			s.must(t, "payments", "sandbox", "advance", "32d")
			s.await(t, func() bool { return ann.get(t, payments+"/invoices").at("data.0.lines.1.quantity") == "111" })
			ann.get(t, payments+"/invoices").has(t, map[string]string{
				"data.0.amount_paid.amount": "833", "data.0.lines.0.amount.amount": "500",
				"data.0.lines.1.amount.amount": "333", "data.0.lines.1.description": "111 × emails",
			})
			ann.do(t, "PATCH", mine, object{"plan_id": "pro"}).is(t, 200).
				has(t, map[string]string{"plan_id": "used", "pending_change.plan_id": "pro"})
			ann.do(t, "POST", payments+"/usage", object{"feature": "emails", "quantity": 7}).is(t, 200)
			ann.do(t, "DELETE", mine, nil).is(t, 204) // bills what was just reported
			s.await(t, func() bool { return ann.get(t, payments+"/invoices").at("data.0.amount_paid.amount") == "21" })
		})
	})
}
