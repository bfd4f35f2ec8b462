package e2e

import "testing"

// TestNothingIsSoldForMoreThanTheGatewayCharges asks for quantities whose sum is greater than one charge can be.
func TestNothingIsSoldForMoreThanTheGatewayCharges(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, configured(`orgs:
  - slug: default
    payments: {gateway: sandbox, plans: [
      {id: dear, name: Dear, price: {amount: 20000, currency: usd}, interval: month, limits: {messages: 10}}],
      credit_packs: [{id: gold, name: Gold, price: {amount: 200000, currency: usd}, limits: {messages: 10}}]}`))
	ann := s.user(t, "owner")
	ann.card(t, cardNumber)
	order := func(more object) object {
		body := object{"plan_id": "dear", "quantity": 10_000}
		for name, value := range more {
			body[name] = value
		}
		return body
	}
	refuse := func(method, path string, body object) {
		t.Helper()
		ann.do(t, method, path, body).problem(t, 422, "amount_too_large")
	}
	refuse("POST", payments+"/subscriptions", order(nil))
	refuse("POST", checkoutPath, order(object{"success_url": shopOrigin, "cancel_url": shopOrigin}))
	refuse("POST", packPath, object{"credit_pack_id": "gold", "quantity": 1000})
	ann.subscribe(t, "dear")
	refuse("POST", previewPath, order(nil))
	refuse("PATCH", mine, order(nil))
	ann.get(t, mine).has(t, map[string]string{"quantity": "1"})
	if got := ann.get(t, payments+"/invoices").each(t, "total.amount"); len(got) != 1 || got[0] != "20000" {
		t.Errorf("the invoices are %v", got)
	}
}
