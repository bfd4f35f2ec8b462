package e2e

import (
	"strings"
	"testing"
)

// invoice returns the id of the newest invoice with a status.
func (c *client) invoice(t *testing.T, status string) string {
	t.Helper()
	id := c.get(t, payments+"/invoices?status="+status).at("data.0.id")
	if id == "" {
		t.Fatalf("there is no %s invoice", status)
	}
	return id
}

func payPath(id string) string { return payments + "/invoices/" + id + "/pay" }

// makeDefault makes a card the default.
func (c *client) makeDefault(t *testing.T, method string) {
	t.Helper()
	c.do(t, "POST", payments+"/methods/"+method+"/default", nil).is(t, 200)
}

// authenticate completes the authentication that an action asks for.
func (c *client) authenticate(t *testing.T, clientSecret string) {
	t.Helper()
	id, _, _ := strings.Cut(clientSecret, "_secret_")
	path := payments + "/sandbox/setup-intents/" + id + "/authenticate"
	c.do(t, "POST", path, object{"client_secret": clientSecret, "success": true}).is(t, 200)
}

// becomes waits until the subscription has a status.
func (c *client) becomes(t *testing.T, status string) {
	t.Helper()
	c.server.await(t, func() bool { return c.do(t, "GET", mine, nil).at("status") == status })
}

func TestOpenInvoicesArePaid(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold)
		ann, member := s.user(t, "owner"), s.user(t, "member")
		good := ann.card(t, cardNumber)
		bad := ann.card(t, "4000000000000341")
		asks := ann.create(t, payments+"/setup-intent", object{"usage": "on_session"})
		card := object{"client_secret": asks.at("client_secret"), "card": testCard("4000002500003155")}
		ann.do(t, "POST", confirm(asks.at("id")), card).is(t, 200)
		ann.authenticate(t, asks.at("client_secret"))
		strict := ann.get(t, payments+"/methods").at("data.0.id")
		ann.makeDefault(t, good)
		ann.subscribe(t, "basic")

		t.Run("an unpaid subscription is active again when its invoice is paid", func(t *testing.T) {
			ann.makeDefault(t, bad)
			s.must(t, "payments", "sandbox", "advance", "32d")
			ann.becomes(t, "past_due")
			open := ann.invoice(t, "open")
			member.do(t, "POST", payPath(open), nil).problem(t, 403, "billing_role_required")
			ann.do(t, "POST", payPath("in_none"), nil).problem(t, 404, "invoice_not_found")
			ann.do(t, "POST", payPath(open), nil).problem(t, 402, "card_declined")
			for _, extra := range []object{{"plan_id": "pro"}, {"quantity": 2}} {
				ann.do(t, "PATCH", mine, extra).problem(t, 409, "subscription_not_active")
				ann.do(t, "POST", mine+"/preview", extra).problem(t, 409, "subscription_not_active")
			}
			s.must(t, "payments", "sandbox", "advance", "14d")
			ann.becomes(t, "unpaid")
			ann.makeDefault(t, good)
			paid := ann.do(t, "POST", payPath(open), nil, "Idempotency-Key: pay").is(t, 200)
			paid.has(t, map[string]string{"invoice.status": "paid", "invoice.amount_paid.amount": "900",
				"action": "null", "gateway": "sandbox"})
			ann.get(t, mine).has(t, map[string]string{"status": "active", "entitled": "true"})
			second := ann.do(t, "POST", payPath(open), nil, "Idempotency-Key: pay").is(t, 200)
			if second.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("%v", second.header)
			}
			ann.do(t, "POST", payPath(open), nil).is(t, 200).has(t, map[string]string{"invoice.status": "paid"})
			ann.get(t, payments+"/invoices").has(t, map[string]string{"data.0.status": "paid", "data.1.status": "paid",
				"data.2": ""})
		})
		t.Run("a renewal that needs authentication has an action", func(t *testing.T) {
			ann.makeDefault(t, strict)
			s.must(t, "payments", "sandbox", "advance", "17d")
			ann.becomes(t, "past_due")
			open := ann.invoice(t, "open")
			a := ann.do(t, "POST", payPath(open), nil).is(t, 200)
			a.has(t, map[string]string{"invoice.status": "open", "action.type": "confirm_payment"})
			ann.get(t, mine).has(t, map[string]string{"action.client_secret": a.at("action.client_secret")})
			s.user(t, "member").get(t, mine).has(t, map[string]string{"status": "past_due", "action": "null"})
			if a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%v", a.header)
			}
			second := ann.do(t, "POST", payPath(open), nil).is(t, 200)
			if second.at("action.client_secret") != a.at("action.client_secret") {
				t.Errorf("%s\n%s", a, second)
			}
			ann.authenticate(t, a.at("action.client_secret"))
			ann.get(t, mine).has(t, map[string]string{"status": "active"})
			ann.do(t, "POST", payPath(open), nil).is(t, 200).has(t,
				map[string]string{"invoice.status": "paid", "action": "null"})
		})
		t.Run("the void invoice of a first payment that never came cannot be paid", func(t *testing.T) {
			ann.do(t, "DELETE", mine, nil).is(t, 204)
			asks := ann.create(t, payments+"/setup-intent", object{"usage": "on_session"})
			card["client_secret"] = asks.at("client_secret")
			ann.do(t, "POST", confirm(asks.at("id")), card).is(t, 200)
			ann.authenticate(t, asks.at("client_secret"))
			ann.subscribe(t, "basic").has(t, map[string]string{"subscription.status": "incomplete"})
			ann.do(t, "DELETE", mine, nil).is(t, 204)
			s.await(t, func() bool { return ann.get(t, payments+"/invoices?status=void").at("data.0.id") != "" })
			ann.do(t, "POST", payPath(ann.invoice(t, "void")), nil).problem(t, 409, "invoice_not_payable")
		})
	})
}

func TestAPaymentOfAnInvoiceWithoutResponse(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, sold)
	ann := s.user(t, "owner")
	good := ann.card(t, cardNumber)
	ann.subscribe(t, "basic")
	ann.makeDefault(t, ann.card(t, "4000000000000341"))
	s.must(t, "payments", "sandbox", "advance", "32d")
	ann.becomes(t, "past_due")
	open := ann.invoice(t, "open")
	ann.makeDefault(t, good)
	s.await(t, func() bool { // the jobs of the events call the gateway, too
		return s.only(t, `SELECT COUNT(*) FROM jobs WHERE kind = 'payment.events' AND ended_at = 0`) == "0"
	})
	for _, tt := range []struct {
		trouble, code string
		status        int
	}{{"error", "gateway_unavailable", 503}, {"timeout", "gateway_timeout", 504},
		{"garbage", "gateway_error", 502}} {
		s.must(t, "payments", "sandbox", "provoke", tt.trouble, tt.trouble, tt.trouble, tt.trouble,
			tt.trouble, tt.trouble)
		ann.do(t, "POST", payPath(open), nil, "Idempotency-Key: pay").problem(t, tt.status, tt.code)
	}
	ann.do(t, "POST", payPath(open), nil, "Idempotency-Key: other").problem(t, 409, "payment_pending")
	s.must(t, "payments", "sandbox", "provoke")
	a := ann.do(t, "POST", payPath(open), nil, "Idempotency-Key: pay").is(t, 200)
	a.has(t, map[string]string{"invoice.status": "paid", "invoice.amount_paid.amount": "900"})
	ann.get(t, mine).has(t, map[string]string{"status": "active"})
}

func TestAnUpgradeThatNeedsAuthentication(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold)
		ann := s.user(t, "owner")
		ann.card(t, cardNumber)
		ann.subscribe(t, "basic")
		asks := ann.create(t, payments+"/setup-intent", object{"usage": "on_session"})
		card := object{"client_secret": asks.at("client_secret"), "card": testCard("4000002500003155")}
		ann.do(t, "POST", confirm(asks.at("id")), card).is(t, 200)
		ann.authenticate(t, asks.at("client_secret"))
		ann.makeDefault(t, ann.get(t, payments+"/methods").at("data.0.id"))
		a := ann.do(t, "PATCH", mine, object{"plan_id": "pro"}).is(t, 200)
		a.has(t, map[string]string{"plan_id": "basic", "status": "active", "action.type": "confirm_payment",
			"credit": "null"})
		ann.get(t, mine).has(t, map[string]string{"plan_id": "basic",
			"action.client_secret": a.at("action.client_secret")})
		ann.authenticate(t, a.at("action.client_secret"))
		ann.get(t, mine).has(t, map[string]string{"plan_id": "pro", "action": "null"})
		ann.get(t, payments+"/invoices").has(t, map[string]string{"data.0.status": "paid", "data.1.status": "paid",
			"data.2": ""})
	})
}
