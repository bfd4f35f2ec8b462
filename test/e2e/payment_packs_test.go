package e2e

import (
	"strconv"
	"strings"
	"testing"
)

const packSettings = `payments: {gateway: sandbox, grace_days: 7, on_refund: end, plans: [
      {id: team, name: Team, price: {amount: 900, currency: usd}, interval: month, limits: {messages: 10}},
      {id: large, name: Large, price: {amount: 2900, currency: usd}, interval: month, limits: {messages: 1000}}],
      credit_packs: [
      {id: month, name: A month, description: For a month., price: {amount: 500, currency: usd},
        limits: {messages: 20}, expires_after_days: 30},
      {id: ever, name: For ever, price: {amount: 700, currency: usd}, limits: {messages: 20}},
      {id: old, name: Old, price: {amount: 100, currency: usd}, limits: {messages: 1}, sold: false}]}`

const packPath = payments + "/credit-packs"

func TestCreditPacks(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, configured("orgs:\n  - slug: default\n    "+packSettings))
		o := s.user(t, "owner")
		order := func(id string, quantity any) object { return object{"credit_pack_id": id, "quantity": quantity} }
		consume := func(n int) *answer {
			return o.do(t, "POST", payments+"/usage/consume", object{"feature": "messages", "quantity": n})
		}
		check := func(want map[string]string) {
			t.Helper()
			o.get(t, entitlements).has(t, want)
		}
		t.Run("credit packs are listed with the plans", func(t *testing.T) {
			o.get(t, payments+"/plans").has(t, map[string]string{"credit_packs.0.id": "month",
				"credit_packs.0.price.amount": "500", "credit_packs.0.limits.messages": "20",
				"credit_packs.0.expires_after_days": "30", "credit_packs.0.available": "true",
				"credit_packs.1.expires_after_days": "null", "credit_packs.2": ""})
		})
		t.Run("they need a payment method", func(t *testing.T) {
			o.do(t, "POST", packPath, order("month", 1)).problem(t, 402, "payment_method_required")
			check(map[string]string{"limits.messages.limit": "0", "limits.messages.credit_packs.0": ""})
		})
		o.card(t, cardNumber)
		t.Run("a workspace without a plan uses what it has bought", func(t *testing.T) {
			invoice := o.do(t, "POST", packPath, order("ever", 2), "Idempotency-Key: one").is(t, 200).has(t,
				map[string]string{"invoice.status": "paid", "invoice.total.amount": "1400", "action": "null",
					"invoice.credit_pack_id": "ever", "invoice.lines.0.quantity": "2"}).at("invoice.id")
			o.do(t, "POST", packPath, order("ever", 2), "Idempotency-Key: one").is(t, 200).has(t,
				map[string]string{"invoice.id": invoice})
			o.get(t, payments+"/invoices").has(t, map[string]string{"data.0.id": invoice, "data.1": "",
				"data.0.subscription_id": "null"})
			check(map[string]string{"limits.messages.limit": "40", "limits.messages.remaining": "40",
				"limits.messages.credit_packs.0.granted": "40", "limits.messages.credit_packs.0.invoice_id": invoice,
				"limits.messages.credit_packs.0.expires_at": "null", "plan_id": "null"})
			consume(5).is(t, 200).has(t, map[string]string{"used": "5", "remaining": "35", "limit": "40",
				"credit_packs.0.remaining": "35"})
			consume(36).problem(t, 409, "plan_limit_reached").has(t, map[string]string{"plan_limit.limit": "40",
				"plan_limit.upgrade_plan_id": "team"})
			o.get(t, "/api/events?type=credit_pack.purchased").has(t, map[string]string{"data.0.subject": invoice,
				"data.0.data.credit_pack_id": "ever", "data.0.data.limits.messages": "40", "data.0.data.amount": "1400",
				"data.1": ""})
		})
		t.Run("the allowance of the plan is spent first, then the one that expires soonest", func(t *testing.T) {
			o.subscribe(t, "team")
			o.do(t, "POST", packPath, order("month", 1)).is(t, 200)
			check(map[string]string{"limits.messages.limit": "65", "limits.messages.used": "0", // of a new period
				"limits.messages.credit_packs.0.credit_pack_id": "month", "limits.messages.credit_packs.0.remaining": "20",
				"limits.messages.credit_packs.1.remaining": "35"})
			consume(10).is(t, 200)
			check(map[string]string{"limits.messages.credit_packs.0.remaining": "20",
				"limits.messages.remaining": "55"})
			consume(25).is(t, 200)
			check(map[string]string{"limits.messages.credit_packs.0.credit_pack_id": "ever",
				"limits.messages.credit_packs.0.remaining": "30", "limits.messages.credit_packs.1": "",
				"limits.messages.used": "35", "limits.messages.limit": "65"})
			o.do(t, "POST", payments+"/usage", object{"feature": "messages", "quantity": -7}).is(t, 200).has(t,
				map[string]string{"remaining": "37", "credit_packs.0.credit_pack_id": "ever",
					"credit_packs.0.remaining": "37", "credit_packs.1": ""})
		})
		t.Run("what is left of one expires, and the next period has its allowance again", func(t *testing.T) {
			invoice := o.do(t, "POST", packPath, order("month", 1)).is(t, 200).at("invoice.id")
			o.do(t, "POST", clock, object{"advance_seconds": 32 * 24 * 3600}).is(t, 200)
			check(map[string]string{"limits.messages.used": "0", "limits.messages.limit": "47",
				"limits.messages.credit_packs.0.credit_pack_id": "ever", "limits.messages.credit_packs.1": ""})
			o.get(t, "/api/events?type=credit_pack.expired").has(t, map[string]string{"data.0.subject": invoice,
				"data.0.data.credit_pack_id": "month", "data.0.data.limits.messages": "20", "data.1": ""})
		})
		t.Run("a refund ends what it has paid for, if the org says so", func(t *testing.T) {
			id := o.do(t, "POST", packPath, order("month", 1)).is(t, 200).at("invoice.id")
			check(map[string]string{"limits.messages.limit": "67"})
			s.must(t, "payments", "sandbox", "refund", id)
			s.await(t, func() bool { return o.get(t, entitlements).at("limits.messages.limit") == "47" })
			o.get(t, mine).has(t, map[string]string{"status": "active"})
		})
		t.Run("bad orders are refused", func(t *testing.T) {
			o.do(t, "POST", packPath, order("none", 1)).problem(t, 404, "credit_pack_not_found")
			o.do(t, "POST", packPath, order("old", 1)).problem(t, 422, "credit_pack_unavailable")
			for _, quantity := range []any{-1, 0, 1001, 1.5, "2", nil} {
				o.do(t, "POST", packPath, order("month", quantity)).problem(t, 422, "invalid_fields")
			}
			s.user(t, "member").do(t, "POST", packPath, order("month", 1)).problem(t, 403, "billing_role_required")
		})
		t.Run("a payment that the bank asks for counts when the payer has confirmed it", func(t *testing.T) {
			card := o.card(t, "4000002760003184")
			o.do(t, "POST", payments+"/methods/"+card+"/default", nil).is(t, 200)
			secret := o.do(t, "POST", packPath, order("month", 1)).is(t, 200).has(t,
				map[string]string{"invoice.status": "open",
					"action.type": "confirm_payment"}).at("action.client_secret")
			check(map[string]string{"limits.messages.limit": "47"})
			id, _, _ := strings.Cut(secret, "_secret_")
			o.do(t, "POST", payments+"/sandbox/setup-intents/"+id+"/authenticate",
				object{"client_secret": secret, "success": true}).is(t, 200)
			s.await(t, func() bool { return o.get(t, entitlements).at("limits.messages.limit") == "67" })
		})
		t.Run("a declined card leaves nothing to be paid", func(t *testing.T) {
			card := o.card(t, "4000000000000341")
			o.do(t, "POST", payments+"/methods/"+card+"/default", nil).is(t, 200)
			o.do(t, "POST", packPath, order("ever", 1)).problem(t, 402, "card_declined")
			o.get(t, payments+"/invoices?status=open").has(t, map[string]string{"data.0": ""})
		})
	})
}

func TestCreditPacksAreBoughtOnAPage(t *testing.T) {
	s := start(t, sqlite, configured("orgs:\n  - slug: default\n    "+packSettings))
	o := s.user(t, "owner")
	order := func(fields object) object {
		body := object{"credit_pack_id": "month", "quantity": 2, "success_url": shopOrigin + "/yes",
			"cancel_url": shopOrigin + "/no"}
		for name, value := range fields {
			body[name] = value
		}
		return body
	}
	for name, value := range map[string]any{"plan_id": "team", "trial": false, "currency": "eur", "quantity": 1001,
		"payment_method_optional": true} {
		o.do(t, "POST", checkoutPath, order(object{name: value})).problem(t, 422, "invalid_fields").has(t,
			map[string]string{"errors.0.pointer": "/" + name})
	}
	o.do(t, "POST", checkoutPath, order(object{"credit_pack_id": "none"})).problem(t, 404, "credit_pack_not_found")
	o.do(t, "POST", checkoutPath, order(object{"credit_pack_id": "old"})).problem(t, 422, "credit_pack_unavailable")
	o.do(t, "POST", checkoutPath, object{"success_url": shopOrigin, "cancel_url": shopOrigin}).problem(t, 422,
		"invalid_fields")
	page := o.do(t, "POST", checkoutPath, order(nil)).is(t, 201).at("url")
	s.visit(t, page, nil).has(t, 200, "2 × 5.00 USD once", ">Pay<")
	o.get(t, entitlements).has(t, map[string]string{"limits.messages.limit": "0"})
	s.visit(t, page, payForm("4000000000000341")).has(t, 402)
	o.get(t, entitlements).has(t, map[string]string{"limits.messages.limit": "0"})
	s.visit(t, page, payForm(cardNumber)).has(t, 303)
	s.await(t, func() bool { return o.get(t, entitlements).at("limits.messages.limit") == "40" })
	o.get(t, "/api/events?type=credit_pack.purchased").has(t, map[string]string{"data.0.data.quantity": "2",
		"data.0.data.amount": "1000", "data.1": ""})
	o.do(t, "GET", mine, nil).problem(t, 404, "no_active_subscription")
	o.get(t, "/api/events?type=credit_pack.checkout_started").has(t, map[string]string{
		"data.0.data.credit_pack_id": "month"})
}

// TestCreditPacksAreBoughtOnceWhateverIsLost loses answers after each step of a purchase, and kills the server.
func TestCreditPacksAreBoughtOnceWhateverIsLost(t *testing.T) {
	s := start(t, sqlite, configured("orgs:\n  - slug: default\n    "+packSettings))
	o := s.user(t, "owner")
	o.card(t, cardNumber)
	body := object{"credit_pack_id": "ever"}
	limit := 0
	lose := func(call string) {
		s.must(t, "payments", "sandbox", "provoke", "--call", call, "timeout_after", "timeout_after", "timeout_after")
	}
	for _, tt := range []struct {
		trouble, code string
		status        int
	}{{"error", "gateway_unavailable", 503}, {"garbage", "gateway_error", 502}} {
		s.must(t, "payments", "sandbox", "provoke", "--call", "buy", tt.trouble, tt.trouble, tt.trouble)
		o.do(t, "POST", packPath, body, "Idempotency-Key: troubled").problem(t, tt.status, tt.code)
	}
	o.do(t, "POST", packPath, body, "Idempotency-Key: other").problem(t, 409, "payment_pending")
	s.must(t, "payments", "sandbox", "provoke")
	o.do(t, "POST", packPath, body, "Idempotency-Key: troubled").is(t, 200).has(t,
		map[string]string{"invoice.status": "paid"})
	limit += 20
	for _, call := range []string{"buy", "pay"} {
		t.Run("an answer is lost at "+call, func(t *testing.T) {
			key := "Idempotency-Key: " + call
			lose(call)
			o.do(t, "POST", packPath, body, key).problem(t, 504, "gateway_timeout")
			s.must(t, "payments", "sandbox", "provoke")
			o.do(t, "POST", packPath, body, key).is(t, 200).has(t, map[string]string{"invoice.status": "paid"})
			limit += 20
			s.await(t, func() bool {
				return o.get(t, entitlements).at("limits.messages.limit") == strconv.Itoa(limit)
			})
		})
	}
	lose("pay") // and then the server is killed between the charge and the credit
	o.do(t, "POST", packPath, body).problem(t, 504, "gateway_timeout")
	s.must(t, "payments", "sandbox", "provoke")
	s.kill(t)
	s = s.deployment.start(t)
	o = o.at(s)
	limit += 20
	s.await(t, func() bool {
		return o.get(t, entitlements).at("limits.messages.limit") == strconv.Itoa(limit)
	})
	o.get(t, "/api/events?type=credit_pack.purchased").has(t, map[string]string{"data.3.type": "credit_pack.purchased",
		"data.4": ""})
}
