package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/proof"
)

const (
	payments     = "/api/payments"
	mine         = payments + "/subscriptions/me"
	webhookKey   = "whsec_known_to_the_tests"
	cardNumber   = "4242 4242 4242 4242"
	soldSettings = `payments: {gateway: sandbox, grace_days: 7, webhook_secrets: ['env:TEST_WEBHOOK_SECRET'],
      credit_packs: [{id: pack, name: Pack, price: {amount: 500, currency: usd}, limits: {messages: 10}}], plans: [
      {id: basic, name: Basic, price: {amount: 900, currency: usd}, interval: month, limits: {members: 1000, messages: 1000}, features: [Chats]},
      {id: pro, name: Pro, price: {amount: 2900, currency: usd}, interval: month},
      {id: try, name: Try, price: {amount: 500, currency: usd}, interval: month, trial_days: 14}]}`
)

// sold enables payments in the sandbox for the only org.
func sold(d *deployment) {
	configured("orgs:\n  - slug: default\n    " + soldSettings)(d)
	knowsWebhookKey(d)
}

func knowsWebhookKey(d *deployment) { d.env = append(d.env, "TEST_WEBHOOK_SECRET="+webhookKey) }

func testCard(number string) object {
	return object{"number": number, "exp_month": 12, "exp_year": time.Now().Year() + 5, "cvc": "123"}
}

// intent creates a setup intent.
func (c *client) intent(t *testing.T, headers ...string) (id, clientSecret string) {
	t.Helper()
	a := c.create(t, payments+"/setup-intent", object{}, headers...)
	return a.at("id"), a.at("client_secret")
}

func confirm(id string) string { return payments + "/sandbox/setup-intents/" + id + "/confirm" }

func authenticate(id string) string {
	return payments + "/sandbox/setup-intents/" + id + "/authenticate"
}

// card adds a test card and returns the id of the payment method.
func (c *client) card(t *testing.T, number string, headers ...string) string {
	t.Helper()
	id, clientSecret := c.intent(t, headers...)
	a := c.do(t, "POST", confirm(id), object{"client_secret": clientSecret, "card": testCard(number)},
		headers...).is(t, 200)
	if a.at("status") == "requires_action" {
		c.do(t, "POST", authenticate(id), object{"client_secret": clientSecret, "success": true}, headers...).is(t, 200)
	}
	return c.get(t, payments+"/methods", headers...).at("data.0.id")
}

func (c *client) subscribe(t *testing.T, plan string, headers ...string) *answer {
	t.Helper()
	return c.create(t, payments+"/subscriptions", object{"plan_id": plan}, headers...)
}

func TestPayments(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold)
		ann, member := s.user(t, "owner"), s.user(t, "member")

		t.Run("every member lists the plans, and sees which one the workspace has", func(t *testing.T) {
			a := member.get(t, payments+"/plans").has(t, map[string]string{
				"data.0.id": "basic", "data.0.price.amount": "900", "data.0.limits.members": "1000",
				"data.0.available": "true", "data.0.is_current": "false", "data.2.trial_days": "14",
				"next_cursor": "null",
			})
			if tag := a.header.Get("ETag"); tag == "" || member.do(t, "GET", payments+"/plans", nil,
				"If-None-Match: "+tag).status != 304 || !strings.Contains(a.header.Get("Vary"), "Workspace-Id") {
				t.Errorf("%v", a.header)
			}
		})
		t.Run("everyone without a credential lists them, and a cache can keep that for a minute", func(t *testing.T) {
			a := s.anonymous().get(t, payments+"/plans").has(t, map[string]string{"data.0.id": "basic"})
			if got := a.header.Get("Cache-Control"); got != "public, max-age=60" {
				t.Errorf("Cache-Control: %s", got)
			}
			if got := ann.get(t, payments+"/plans").header.Get("Cache-Control"); got != "private, no-cache" {
				t.Errorf("with a credential, Cache-Control: %s", got)
			}
			s.anonymous().do(t, "GET", payments+"/plans", nil, "Authorization: Bearer atk_wrong").problem(t, 401,
				"unauthenticated")
		})
		t.Run("everything except listing plans requires the admin role", func(t *testing.T) {
			plan := object{"plan_id": "basic"}
			for _, c := range []failingCall{
				{method: "POST", path: payments + "/setup-intent", body: object{}},
				{method: "GET", path: payments + "/methods"}, {method: "GET", path: payments + "/invoices"},
				{method: "DELETE", path: payments + "/methods/pm_1"},
				{method: "POST", path: payments + "/methods/pm_1/default"},
				{method: "POST", path: payments + "/subscriptions", body: plan},
				{method: "PATCH", path: mine, body: plan}, {method: "DELETE", path: mine},
				{method: "GET", path: clock}, {method: "POST", path: clock, body: object{"advance_seconds": 1}},
				{method: "POST", path: confirm("seti_1"),
					body: object{"client_secret": "s", "card": testCard(cardNumber)}},
				{method: "POST", path: authenticate("seti_1"), body: object{"client_secret": "s", "success": true}},
			} {
				member.do(t, c.method, c.path, c.body).problem(t, 403, "billing_role_required")
			}
			member.do(t, "GET", mine, nil).problem(t, 404, "no_active_subscription")
		})
		t.Run("a workspace without payment methods and subscriptions", func(t *testing.T) {
			ann.get(t, payments+"/methods").has(t,
				map[string]string{"data": "[]", "stale": "false", "gateway": "sandbox"})
			ann.get(t, payments+"/invoices").has(t, map[string]string{"data": "[]"})
			ann.do(t, "POST", payments+"/subscriptions", object{"plan_id": "basic"}).problem(t, 402,
				"payment_method_required")
			ann.do(t, "POST", payments+"/subscriptions", object{"plan_id": "other"}).problem(t, 404, "plan_not_found")
			ann.do(t, "POST", payments+"/subscriptions", object{"plan_id": "basic", "quantity": 0}).problem(t, 422,
				"invalid_fields")
			ann.do(t, "DELETE", payments+"/methods/pm_1", nil).problem(t, 404, "payment_method_not_found")
			ann.do(t, "POST", payments+"/methods/pm_1/default", nil).problem(t, 404, "payment_method_not_found")
		})
		t.Run("a repeated request returns the same setup intent", func(t *testing.T) {
			a := ann.create(t, payments+"/setup-intent", object{}, "Idempotency-Key: one").has(t,
				map[string]string{"gateway": "sandbox", "publishable_key": "null", "status": "requires_payment_method"})
			b := ann.create(t, payments+"/setup-intent", object{}, "Idempotency-Key: one")
			if a.text != b.text || b.header.Get("Idempotency-Replayed") != "true" ||
				a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s\n%s", a, b)
			}
		})
		t.Run("cards", func(t *testing.T) {
			id, clientSecret := ann.intent(t)
			try := func(number string, change object) *answer {
				card := testCard(number)
				for k, v := range change {
					card[k] = v
				}
				return ann.do(t, "POST", confirm(id), object{"client_secret": clientSecret, "card": card})
			}
			try("4111111111111111", nil).problem(t, 422, "test_card_required")
			try("4000000000000002", nil).problem(t, 402, "card_declined").has(t,
				map[string]string{"decline_code": "generic_decline"})
			try("4000000000009995", nil).problem(t, 402, "card_declined").has(t,
				map[string]string{"decline_code": "insufficient_funds"})
			try("pm_card_visa_chargeDeclinedLostCard", nil).problem(t, 402, "card_declined").has(t,
				map[string]string{"decline_code": "lost_card"})
			try("pm_card_of_no_one", nil).problem(t, 422, "test_card_required")
			try(cardNumber, object{"exp_year": 2020}).problem(t, 422, "payment_method_expired")
			try("42", nil).problem(t, 422, "invalid_fields")
			ann.do(t, "POST", confirm(id), object{"client_secret": "x", "card": testCard(cardNumber)}).problem(t, 404,
				"intent_not_found")
			ann.do(t, "POST", confirm("seti_x"), object{"client_secret": clientSecret, "card": testCard(cardNumber)}).
				problem(t, 404, "intent_not_found")
			try(cardNumber, nil).is(t, 200).has(t, map[string]string{"status": "succeeded"})
			try(cardNumber, nil).problem(t, 409, "intent_state")
			ann.do(t, "POST", authenticate(id), object{"client_secret": clientSecret, "success": true}).problem(t, 409,
				"intent_state")
			ann.do(t, "POST", authenticate(id), object{"client_secret": "x", "success": true}).problem(t, 404,
				"intent_not_found")
			ann.get(t, payments+"/methods").has(t, map[string]string{"data.0.brand": "visa", "data.0.last4": "4242",
				"data.0.is_default": "true", "data.0.is_expired": "false", "data.1": ""})
		})
		first := ann.get(t, payments+"/methods").at("data.0.id")
		t.Run("repeated subscribe requests charge once", func(t *testing.T) {
			a := ann.create(t, payments+"/subscriptions", object{"plan_id": "basic", "quantity": 2},
				"Idempotency-Key: buy")
			b := ann.create(t, payments+"/subscriptions", object{"plan_id": "basic", "quantity": 2},
				"Idempotency-Key: buy")
			if a.text != b.text {
				t.Errorf("%s\n%s", a, b)
			}
			a.has(t, map[string]string{"subscription.status": "active", "subscription.plan.id": "basic",
				"subscription.plan.price.amount": "900", "subscription.plan_id": "basic", "subscription.quantity": "2",
				"subscription.entitled": "true", "action": "null", "subscription.default_payment_method_id": first})
			ann.do(t, "POST", payments+"/subscriptions", object{"plan_id": "pro"}).problem(t, 409,
				"subscription_exists")
			member.get(t, mine).has(t, map[string]string{"status": "active", "gateway": "sandbox", "stale": "false",
				"pending_change": "null"})
			member.get(t, payments+"/plans").has(t, map[string]string{"data.0.is_current": "true"})
			list := ann.get(t, payments+"/invoices").has(t,
				map[string]string{"data.0.total.amount": "1800", "data.0.status": "paid", "data.1": ""})
			ann.get(t, payments+"/invoices?status=open").has(t, map[string]string{"data": "[]"})
			if list.at("data.0.number") == "null" {
				t.Error(list)
			}
		})
		t.Run("the last method cannot be removed, and another replaces a removed default", func(t *testing.T) {
			ann.do(t, "DELETE", payments+"/methods/"+first, nil).problem(t, 409, "payment_method_in_use")
			second := ann.card(t, "5555555555554444")
			ann.do(t, "POST", payments+"/methods/"+second+"/default", nil).is(t, 200).has(t,
				map[string]string{"is_default": "true", "brand": "mastercard"})
			ann.do(t, "POST", payments+"/methods/"+first+"/default", nil).is(t, 200)
			ann.do(t, "DELETE", payments+"/methods/"+first+"?replacement_id=pm_x", nil).problem(t, 404,
				"payment_method_not_found")
			ann.do(t, "DELETE", payments+"/methods/"+first, nil).is(t, 204)
			ann.do(t, "DELETE", payments+"/methods/"+first, nil).problem(t, 404, "payment_method_not_found")
			ann.get(t, payments+"/methods").has(t, map[string]string{"data.0.id": second, "data.0.is_default": "true",
				"data.1": ""})
		})
		t.Run("upgrades take effect now, downgrades at renewal, and an ending subscription cannot be downgraded",
			func(t *testing.T) {
				a := ann.do(t, "PATCH", mine, object{"plan_id": "pro"}).is(t, 200).has(t,
					map[string]string{"plan_id": "pro", "pending_change": "null"})
				ann.do(t, "PATCH", mine, object{"quantity": 1}, `If-Match: "1-x"`).problem(t, 412, "revision_mismatch")
				ann.do(t, "PATCH", mine, object{"plan_id": "basic", "quantity": 1},
					"If-Match: "+a.header.Get("ETag")).is(t,
					200).has(t, map[string]string{"plan_id": "pro", "pending_change.plan_id": "basic"})
				ann.do(t, "PATCH", mine, object{"cancel_at_period_end": true}).is(t, 200).has(t,
					map[string]string{"cancel_at_period_end": "true", "pending_change": "null"})
				ann.do(t, "PATCH", mine, object{"cancel_at_period_end": false}).is(t, 200).has(t,
					map[string]string{"cancel_at_period_end": "false", "pending_change.plan_id": "basic"})
				ann.do(t, "PATCH", mine, object{"cancel_at_period_end": true}).is(t, 200)
				reductions := object{"plan_id": "basic", "quantity": 1}
				ann.do(t, "PATCH", mine, reductions).problem(t, 409, "subscription_ends")
				reductions["cancel_at_period_end"] = false
				ann.do(t, "PATCH", mine, reductions).is(t, 200).has(t,
					map[string]string{"cancel_at_period_end": "false", "pending_change.plan_id": "basic"})
				ann.do(t, "PATCH", mine, object{"plan_id": "other"}).problem(t, 404, "plan_not_found")
			})
		t.Run("the mirror follows the sandbox's clock", func(t *testing.T) {
			s.must(t, "payments", "sandbox", "advance", "32d")
			s.await(t, func() bool { return member.get(t, mine).at("plan_id") == "basic" })
			member.get(t, mine).has(t, map[string]string{"quantity": "1", "pending_change": "null", "status": "active"})
			if out := s.must(t, "doctor", "payments"); !strings.Contains(out, "1 customer, 0 differences") {
				t.Error(out)
			}
		})
		t.Run("a workspace with a subscription cannot be deleted", func(t *testing.T) {
			ann.do(t, "DELETE", "/api/workspaces/"+ann.workspace, nil).problem(t, 409, "workspace_in_use")
		})
		t.Run("a subscription can be cancelled at once", func(t *testing.T) {
			ann.do(t, "DELETE", mine, nil).is(t, 204)
			ann.do(t, "DELETE", mine, nil).problem(t, 404, "no_active_subscription")
			member.do(t, "GET", mine, nil).problem(t, 404, "no_active_subscription")
		})
		t.Run("a payment that requires authentication waits for it", func(t *testing.T) {
			id := ann.create(t, payments+"/setup-intent", object{"usage": "on_session"})
			body := object{"client_secret": id.at("client_secret"), "card": testCard("4000002500003155")}
			ann.do(t, "POST", confirm(id.at("id")), body).is(t, 200).has(t,
				map[string]string{"status": "requires_action"})
			ann.do(t, "POST", authenticate(id.at("id")),
				object{"client_secret": id.at("client_secret"), "success": true}).is(t, 200)
			method := ann.get(t, payments+"/methods").at("data.0.id")
			order := object{"plan_id": "basic", "payment_method_id": method}
			a := ann.create(t, payments+"/subscriptions", order).has(t,
				map[string]string{"subscription.status": "incomplete", "subscription.entitled": "false",
					"action.type": "confirm_payment"})
			second := ann.do(t, "POST", payments+"/subscriptions", order).is(t, 200)
			if second.at("action.client_secret") != a.at("action.client_secret") ||
				second.at("subscription.id") != a.at("subscription.id") {
				t.Errorf("%s\n%s", a, second)
			}
			ann.get(t, mine).has(t, map[string]string{"action.client_secret": a.at("action.client_secret")})
			member.get(t, mine).has(t, map[string]string{"action": "null", "status": "incomplete"})
			clientSecret := a.at("action.client_secret")
			intent, _, _ := strings.Cut(clientSecret, "_secret_")
			ann.do(t, "POST", authenticate(intent), object{"client_secret": clientSecret, "success": true}).is(t, 200)
			ann.get(t, mine).has(t, map[string]string{"status": "active", "action": "null"})
			ann.do(t, "DELETE", mine, nil).is(t, 204)
		})
		t.Run("a declined subscription leaves nothing", func(t *testing.T) {
			method := ann.card(t, "4000000000000341")
			ann.do(t, "POST", payments+"/subscriptions", object{"plan_id": "basic", "payment_method_id": method}).
				problem(t, 402, "card_declined").has(t, map[string]string{"decline_code": "generic_decline"})
			ann.do(t, "GET", mine, nil).problem(t, 404, "no_active_subscription")
		})
		t.Run("every payment event is in the audit trail", func(t *testing.T) {
			types := strings.Join(ann.get(t, "/api/events?limit=100").each(t, "type"), " ")
			for _, want := range []string{"payment_customer.created", "payment_method.added", "payment_method.removed",
				"subscription.requested", "subscription.started", "subscription.changed", "subscription.ended",
				"subscription.request_failed"} {
				if !strings.Contains(types, want) {
					t.Errorf("no %s in %s", want, types)
				}
			}
		})
		s.stop(t)
		for place, text := range map[string]string{"the log": s.stderr.String() + s.stdout.String(),
			"the database": s.dump(t)} {
			for _, absent := range []string{"4242424242424242", "4111111111111111", "5555555555554444",
				"4000000000000341", cardNumber, "_secret_", "whsec_"} {
				if i := strings.Index(text, absent); i >= 0 {
					t.Errorf("%s holds %s: …%s", place, absent, text[max(0, i-200):min(len(text), i+60)])
				}
			}
		}
	})
}

// only returns the single value of a query's result.
func (s *server) only(t *testing.T, query string) string {
	t.Helper()
	values := s.column(t, query)
	if len(values) != 1 {
		t.Fatalf("%s answers %q", query, values)
	}
	return values[0]
}

// await waits for the effect of a job.
func (s *server) await(t *testing.T, done func() bool) {
	t.Helper()
	proof.Eventually(t, "the effect of a job", done, s.stderr)
}

func TestOneOfManySubscriptions(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold, set("server.rate_limit.burst", "1000"))
		ann := s.user(t, "owner")
		const racers = 64
		var wg sync.WaitGroup
		for range racers {
			wg.Go(func() {
				if a, err := ann.try(t, "POST", payments+"/setup-intent", object{}); err != nil || a.status != 201 {
					t.Errorf("%s %v", a, err)
				}
			})
		}
		wg.Wait()
		if out := s.must(t, "payments", "sandbox", "advance", "1s"); !strings.Contains(out, "has 1 customer") {
			t.Errorf("the sandbox says: %s", out)
		}
		ann.card(t, cardNumber)
		statuses := make(chan string, racers)
		for range racers {
			wg.Go(func() {
				a, err := ann.try(t, "POST", payments+"/subscriptions", object{"plan_id": "basic"})
				if err != nil {
					t.Error(err)
					return
				}
				statuses <- fmt.Sprint(a.status, " ", a.at("code"))
			})
		}
		wg.Wait()
		close(statuses)
		count := map[string]int{}
		for status := range statuses {
			count[status]++
		}
		if count["201 "] != 1 || count["201 "]+count["409 subscription_exists"]+count["409 payment_pending"] != racers {
			t.Errorf("answers: %v", count)
		}
		ann.get(t, payments+"/invoices").has(t, map[string]string{"data.0.status": "paid", "data.1": ""})
	})
}
