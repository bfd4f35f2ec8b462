package e2e

import (
	"slices"
	"testing"
)

// failingCall is a call of the API that calls the gateway.
type failingCall struct {
	method, path string
	body         any
	at           string // the gateway's call that fails; "" for the first one
	isOnce       bool   // it cannot be repeated
}

// TestEachCallReportsHowTheGatewayFails lets the gateway fail in each way during each call, and then repeats the call.
func TestEachCallReportsHowTheGatewayFails(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, configured("orgs:\n  - slug: default\n    "+packSettings))
	for fault, want := range map[string]struct {
		status int
		code   string
	}{
		"error": {503, "gateway_unavailable"}, "timeout": {504, "gateway_timeout"},
		"denied": {502, "gateway_access_denied"}, "garbage": {502, "gateway_error"},
	} {
		t.Run(fault, func(t *testing.T) {
			o := s.user(t, "owner", "--operator", "--workspace", fault)
			count := 0
			try := func(c failingCall) *answer {
				t.Helper()
				count++
				key := "Idempotency-Key: " + fault + string(rune('a'+count))
				command := []string{"payments", "sandbox", "provoke"}
				if c.at != "" {
					command = append(command, "--call", c.at)
				}
				s.must(t, append(command, slices.Repeat([]string{fault}, 20)...)...)
				o.do(t, c.method, c.path, c.body, key).problem(t, want.status, want.code)
				s.must(t, "payments", "sandbox", "provoke")
				if c.isOnce {
					return nil
				}
				if fault == "denied" { // which is the result of the key
					key += " again"
				}
				a := o.do(t, c.method, c.path, c.body, key)
				if a.status >= 300 {
					t.Fatalf("%s %s is repeated: %s", c.method, c.path, a)
				}
				return a
			}
			if fault == "garbage" { // after which a new customer would be looked for, in vain
				o.create(t, payments+"/setup-intent", object{})
			} else {
				try(failingCall{method: "POST", path: clock, body: object{"advance_seconds": 1}})
			}
			try(failingCall{method: "POST", path: payments + "/setup-intent", body: object{}})
			try(failingCall{method: "POST", path: payments + "/portal-session", body: object{"return_url": shopOrigin}})
			try(failingCall{method: "PUT", path: billingDetails, body: company()})
			try(failingCall{method: "POST", path: checkoutPath, body: object{"plan_id": "team",
				"success_url": shopOrigin, "cancel_url": shopOrigin}, at: "checkout"})
			try(failingCall{method: "POST", path: adjustmentsPath, body: o.gives("credit",
				object{"amount": 1, "currency": "usd"})})
			o.card(t, "4000002760003184") // whose bank asks the payer, so that the invoice is open
			debt := try(failingCall{method: "POST", path: packPath, body: object{"credit_pack_id": "ever"}})
			card := o.card(t, cardNumber)
			try(failingCall{method: "POST", path: payments + "/methods/" + card + "/default"})
			try(failingCall{method: "POST", path: payPath(debt.at("invoice.id"))})
			try(failingCall{method: "POST", path: payments + "/subscriptions", body: object{"plan_id": "team"}})
			try(failingCall{method: "POST", path: previewPath, body: object{"quantity": 2}, at: "preview"})
			try(failingCall{method: "PATCH", path: mine, body: object{"quantity": 2}})
			if fault == "garbage" {
				try(failingCall{method: "POST", path: clock, body: object{"advance_seconds": 32 * 86400},
					at: "subscriptions"})
			}
			try(failingCall{method: "DELETE", path: mine})
			try(failingCall{method: "DELETE", path: payments + "/methods/" + card, isOnce: true})
		})
	}
}
