package e2e

import "testing"

func TestGraceAndExpiryFollowTheClockOfTheSandbox(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold)
		ann := s.user(t, "owner")
		ann.card(t, cardNumber)
		ann.subscribe(t, "basic")
		ann.card(t, "4000000000000341")
		bad := ann.get(t, payments+"/methods").at("data.0.id")
		ann.do(t, "POST", payments+"/methods/"+bad+"/default", nil)
		s.must(t, "payments", "sandbox", "advance", "32d")
		s.await(t, func() bool { return ann.get(t, mine).at("status") == "past_due" })
		ann.get(t, mine).has(t, map[string]string{"entitled": "true"})
		s.must(t, "payments", "sandbox", "advance", "8d")
		ann.get(t, mine).has(t, map[string]string{"entitled": "false"})
		ann.get(t, payments+"/methods").has(t, map[string]string{"data.0.is_expired": "false"})
		s.must(t, "payments", "sandbox", "advance", "2500d")
		ann.get(t, payments+"/methods").has(t, map[string]string{"data.0.is_expired": "true"})
		ann.do(t, "POST", payments+"/methods/"+bad+"/default", nil).problem(t, 422, "payment_method_expired")
	})
}
