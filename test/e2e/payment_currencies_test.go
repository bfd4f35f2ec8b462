package e2e

import (
	"strings"
	"testing"
)

func TestAPlanIsSoldInItsCurrencies(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, configured("orgs:\n  - slug: default\n    "+strings.NewReplacer(
			"{id: basic,", "{id: basic, currency_options: {jpy: 130, eur: 800},",
			"{id: pro,", "{id: pro, currency_options: {eur: 2700},").Replace(soldSettings)), knowsWebhookKey)
		ann := s.user(t, "owner")
		ann.get(t, payments+"/plans").has(t, map[string]string{
			"data.0.price.currency": "usd", "data.0.currency_options.0.currency": "eur",
			"data.0.currency_options.0.amount": "800", "data.0.currency_options.1.exponent": "0",
			"data.2.currency_options": "[]",
		})
		ann.card(t, cardNumber)
		order := object{"plan_id": "basic", "currency": "chf"}
		ann.do(t, "POST", payments+"/subscriptions", order).problem(t, 422, "plan_unavailable")
		order["currency"] = "eur"
		ann.create(t, payments+"/subscriptions", order).has(t, map[string]string{
			"subscription.plan.price.currency": "eur", "subscription.plan.price.amount": "800",
		})
		ann.get(t, payments+"/invoices").has(t, map[string]string{
			"data.0.amount_paid.currency": "eur", "data.0.amount_paid.amount": "800",
		})
		ann.do(t, "POST", mine+"/preview", object{"plan_id": "pro"}).is(t, 200).
			has(t, map[string]string{"due_next.currency": "eur"})
		ann.do(t, "PATCH", mine, object{"plan_id": "pro"}).is(t, 200).has(t, map[string]string{
			"plan.price.currency": "eur", "plan.price.amount": "2700",
		})
		ann.do(t, "PATCH", mine, object{"plan_id": "try"}).problem(t, 422, "plan_unavailable")
		ann.do(t, "DELETE", mine, nil).is(t, 204)

		page := ann.create(t, checkoutPath, object{
			"plan_id": "basic", "currency": "eur", "success_url": shopOrigin, "cancel_url": shopOrigin,
		}).at("url")
		s.visit(t, page, nil).has(t, 200, "1 × 8.00 EUR every month")
		s.visit(t, page, payForm(cardNumber)).has(t, 303)
		ann.becomes(t, "active")
		ann.get(t, mine).has(t, map[string]string{"plan.price.currency": "eur"})
	})
}
