package e2e

import (
	"strconv"
	"strings"
	"testing"
)

// carded gives the deployment the default limits.
func carded(d *deployment) {
	set("payments.card_limits.setup_intents_per_hour", "10")(d)
	set("payments.card_limits.open_setup_intents", "3")(d)
	set("payments.card_limits.declines_per_day", "10")(d)
}

func TestCardsAreNotTested(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold, carded, set("metrics.addr", "127.0.0.1:0"))
		ann, ben := s.user(t, "owner"), s.user(t, "owner", "--workspace", "second")
		limit := func(t *testing.T, c *client) {
			t.Helper()
			a := c.do(t, "POST", payments+"/setup-intent", object{}).problem(t, 429, "setup_intent_rate_limited")
			if wait, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || wait < 1 || wait > 3600 {
				t.Errorf("Retry-After: %q", a.header.Get("Retry-After"))
			}
		}
		t.Run("at most three setup intents are open at the same time", func(t *testing.T) {
			for range 3 {
				ann.intent(t)
			}
			limit(t, ann)
		})
		t.Run("at most ten setup intents are created within an hour", func(t *testing.T) {
			for range 10 {
				ben.card(t, cardNumber)
			}
			limit(t, ben)
		})
		t.Run("ten declines pause the payments", func(t *testing.T) {
			cat := s.user(t, "owner", "--workspace", "third", "--operator")
			cat.makeDefault(t, cat.card(t, "4000002760003184")) // whose bank asks the payer: an invoice stays open
			pack := object{"credit_pack_id": "pack"}
			open := cat.do(t, "POST", packPath, pack).is(t, 200).at("invoice.id")
			card := cat.card(t, cardNumber)
			cat.makeDefault(t, card)
			cat.subscribe(t, "basic")
			id, clientSecret := cat.intent(t)
			body := object{"client_secret": clientSecret, "card": testCard("4000000000000002")}
			for range 10 {
				cat.do(t, "POST", confirm(id), body).problem(t, 402, "card_declined")
			}
			cat.do(t, "POST", confirm(id), body).problem(t, 409, "payments_paused")
			cat.do(t, "POST", authenticate(id), object{"client_secret": clientSecret, "success": true}).problem(t, 409,
				"payments_paused")
			cat.do(t, "POST", payments+"/setup-intent", object{}).problem(t, 409, "payments_paused")
			cat.do(t, "PATCH", mine, object{"plan_id": "pro"}).problem(t, 409, "payments_paused")
			cat.do(t, "POST", packPath, pack).problem(t, 409, "payments_paused")
			cat.do(t, "POST", payPath(open), nil).problem(t, 409, "payments_paused")
			cat.do(t, "POST", checkoutPath, object{"plan_id": "basic", "success_url": shopOrigin,
				"cancel_url": shopOrigin}).problem(t, 409, "payments_paused")
			cat.do(t, "DELETE", mine, nil).is(t, 204)
			cat.do(t, "POST", payments+"/subscriptions", object{"plan_id": "basic", "payment_method_id": card}).problem(
				t, 409, "payments_paused")
			cat.do(t, "POST", adjustmentsPath, cat.gives("comp", object{"plan_id": "basic"})).problem(t, 409,
				"payments_paused")
			if out := s.must(t, "doctor", "payments"); !strings.Contains(out, cat.workspace+" are paused") {
				t.Error(out)
			}
			if got := s.metrics(t); !strings.Contains(got, `atrium_payments_paused_workspaces{org="default"} 1`) {
				t.Error("the metric does not count the workspace")
			}
			if types := strings.Join(cat.get(t, "/api/events?limit=100").each(t, "type"), " "); !strings.Contains(types,
				"payments.paused") {
				t.Error(types)
			}
			s.await(t, func() bool {
				return s.only(t, `SELECT COUNT(*) FROM payment_events WHERE state = 'received'`) == "0"
			})
			if out := s.must(t, "payments", "resume", cat.workspace); !strings.Contains(out, "are resumed") {
				t.Error(out)
			}
			if out := s.must(t, "payments", "resume", cat.workspace); !strings.Contains(out, "nothing was done") {
				t.Error(out)
			}
			cat.subscribe(t, "basic")
			cat.do(t, "POST", confirm(id), body).problem(t, 409, "intent_state")
			cat.intent(t)
		})
	})
}
