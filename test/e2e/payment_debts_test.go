package e2e

import "testing"

// TestWhatIsOwedForASubscriptionThatHasEnded ends subscriptions whose payment has failed.
func TestWhatIsOwedForASubscriptionThatHasEnded(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, withUsage)
		ann := s.user(t, "owner", "--operator")
		good, bad := ann.card(t, cardNumber), ann.card(t, "4000000000000341")
		ann.makeDefault(t, good)
		t.Run("the invoice for an unpaid period is void, and another subscription can begin", func(t *testing.T) {
			ann.subscribe(t, "basic")
			ann.makeDefault(t, bad)
			s.must(t, "payments", "sandbox", "advance", "32d")
			ann.becomes(t, "past_due")
			open := ann.get(t, payments+"/invoices?status=open").has(t, map[string]string{
				"data.0.attempt_count": "1", "data.0.subscription_id": ann.get(t, mine).at("id"),
			})
			if next := open.at("data.0.next_payment_attempt"); next == "null" {
				t.Error(open)
			}
			ann.do(t, "DELETE", mine, nil).is(t, 204)
			ann.get(t, payments+"/invoices").has(t, map[string]string{
				"data.0.status": "void", "data.0.next_payment_attempt": "null",
			})
			ann.do(t, "POST", payPath(open.at("data.0.id")), nil).problem(t, 409, "invoice_not_payable")
			ann.makeDefault(t, good)
			ann.subscribe(t, "used")
		})
		t.Run("an invoice for usage stays, and is paid before another subscription begins", func(t *testing.T) {
			ann.do(t, "POST", payments+"/usage", object{"feature": "emails", "quantity": 100}).is(t, 200)
			ann.makeDefault(t, bad)
			ann.do(t, "DELETE", mine, nil).is(t, 204)
			owed := ann.invoice(t, "open")
			ann.do(t, "POST", payments+"/subscriptions", object{"plan_id": "basic"}).problem(t, 409, "invoice_unpaid")
			page := object{"plan_id": "basic", "success_url": "http://localhost/yes",
				"cancel_url": "http://localhost/no"}
			ann.do(t, "POST", payments+"/checkout-session", page).problem(t, 409, "invoice_unpaid")
			ann.do(t, "POST", adjustmentsPath, ann.gives("comp", object{"plan_id": "basic"})).problem(t, 409,
				"invoice_unpaid")
			for _, method := range []string{good, bad} {
				ann.do(t, "DELETE", payments+"/methods/"+method, nil).is(t, 204)
			}
			ann.do(t, "POST", payPath(owed), nil).problem(t, 402, "payment_method_required")
			ann.card(t, cardNumber)
			ann.do(t, "POST", payPath(owed), nil).is(t, 200).has(t,
				map[string]string{"invoice.amount_paid.amount": "300"})
			ann.subscribe(t, "basic")
		})
		t.Run("a card that is not charged any more can be deleted from a subscription", func(t *testing.T) {
			card := ann.get(t, payments+"/methods").at("data.0.id")
			ann.do(t, "DELETE", payments+"/methods/"+card, nil).problem(t, 409, "payment_method_in_use")
			ann.do(t, "PATCH", mine, object{"cancel_at_period_end": true}).is(t, 200)
			ann.do(t, "DELETE", payments+"/methods/"+card, nil).is(t, 204)
		})
		t.Run("the same card twice is one payment method", func(t *testing.T) {
			ann.card(t, cardNumber)
			second := ann.card(t, cardNumber)
			ann.get(t, payments+"/methods").has(t, map[string]string{
				"data.0.id": second, "data.0.is_default": "true", "data.1": "",
			})
		})
	})
}
