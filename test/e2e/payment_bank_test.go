package e2e

import "testing"

// TestADirectDebitIsOnItsWayForAMinute buys with test accounts of a bank in the sandbox.
func TestADirectDebitIsOnItsWayForAMinute(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold)
		settle := func(payer *client) {
			payer.do(t, "POST", clock, object{"advance_seconds": 61}).is(t, 200)
		}
		t.Run("it is paid when the bank answers", func(t *testing.T) {
			ann := s.user(t, "owner")
			ann.card(t, "pm_usBankAccount_success")
			ann.get(t, payments+"/methods").has(t, map[string]string{
				"data.0.type": "us_bank_account", "data.0.last4": "6789", "data.0.exp_year": "null",
			})
			ann.subscribe(t, "basic")
			ann.get(t, mine).has(t, map[string]string{"status": "active", "action": "null"})
			open := ann.invoice(t, "open")
			ann.do(t, "POST", payPath(open), nil).is(t, 200).has(t, map[string]string{
				"invoice.status": "open", "action": "null",
			})
			settle(ann)
			ann.get(t, payments+"/invoices").has(t, map[string]string{
				"data.0.id": open, "data.0.status": "paid", "data.1": "",
			})
			ann.get(t, mine).has(t, map[string]string{"status": "active"})
		})
		t.Run("if the bank refuses, the subscription is past due, and another card pays", func(t *testing.T) {
			ben := s.user(t, "owner", "--workspace", "second")
			ben.card(t, "pm_usBankAccount_insufficientFunds")
			ben.subscribe(t, "basic")
			ben.get(t, mine).has(t, map[string]string{"status": "active"})
			settle(ben)
			ben.becomes(t, "past_due")
			ben.makeDefault(t, ben.card(t, cardNumber))
			ben.do(t, "POST", payPath(ben.invoice(t, "open")), nil).is(t, 200)
			ben.get(t, mine).has(t, map[string]string{"status": "active"})
		})
	})
}
