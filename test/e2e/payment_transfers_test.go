package e2e

import (
	"strings"
	"testing"
)

func TestAPlanIsPaidByTransfer(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		const wire = "{id: wire, name: Wire, price: {amount: 5000, currency: usd}, interval: month, " +
			"days_until_due: 10},\n      "
		s := start(t, engine, configured("orgs:\n  - slug: default\n    "+
			strings.Replace(soldSettings, "{id: basic", wire+"{id: basic", 1)), knowsWebhookKey)
		ann := s.user(t, "owner")
		ann.get(t, payments+"/plans").has(t, map[string]string{
			"data.0.days_until_due": "10", "data.1.days_until_due": "0",
		})
		back := object{"plan_id": "wire", "success_url": shopOrigin, "cancel_url": shopOrigin}
		ann.do(t, "POST", checkoutPath, back).problem(t, 422, "plan_unavailable")
		ann.subscribe(t, "wire").has(t, map[string]string{
			"subscription.status": "active", "subscription.entitled": "true", "action": "null",
		})
		ann.do(t, "PATCH", mine, object{"plan_id": "basic"}).problem(t, 422, "plan_unavailable")
		invoice := ann.get(t, payments+"/invoices?status=open")
		if invoice.at("data.0.due_at") == "null" || invoice.at("data.0.attempt_count") != "0" {
			t.Errorf("%s", invoice)
		}
		clock := func(days int) {
			t.Helper()
			ann.do(t, "POST", payments+"/sandbox/clock", object{"advance_seconds": days * 86400}).is(t, 200)
		}
		clock(11)
		ann.becomes(t, "past_due")
		ann.get(t, mine).has(t, map[string]string{"entitled": "true"})
		clock(8) // the grace period
		ann.get(t, payments+"/entitlements").has(t, map[string]string{"entitled": "false"})
		ann.card(t, cardNumber)
		ann.do(t, "POST", payments+"/invoices/"+invoice.at("data.0.id")+"/pay", object{}).is(t, 200).
			has(t, map[string]string{"invoice.status": "paid"})
		ann.becomes(t, "active")
	})
}
