package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
)

func TestALostAnswerIsNotChargedTwice(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold)
		ann := s.user(t, "owner")
		method := ann.card(t, cardNumber)
		order := object{"plan_id": "basic", "payment_method_id": method}
		// The three attempts to subscribe take effect, but their responses are lost.
		s.must(t, "payments", "sandbox", "provoke", "--call", "subscribe",
			"timeout_after", "timeout_after", "timeout_after")
		ann.do(t, "POST", payments+"/subscriptions", order, "Idempotency-Key: buy").problem(t, 504, "gateway_timeout")
		pending := ann.do(t, "POST", payments+"/subscriptions", order).problem(t, 409, "payment_pending")
		// when the job has run
		if wait, err := strconv.Atoi(pending.header.Get("Retry-After")); err != nil || wait < 6 || wait > 36 {
			t.Errorf("Retry-After: %q", pending.header.Get("Retry-After"))
		}
		s.must(t, "payments", "sandbox", "provoke")
		ann.create(t, payments+"/subscriptions", order, "Idempotency-Key: buy").has(t,
			map[string]string{"subscription.status": "active"})
		ann.get(t, payments+"/invoices").has(t, map[string]string{"data.0.status": "paid", "data.1": ""})

		ann.do(t, "DELETE", mine, nil).is(t, 204)
		s.must(t, "payments", "sandbox", "provoke", "--call", "subscribe", "error_after", "error_after", "error_after")
		ann.do(t, "POST", payments+"/subscriptions", order).problem(t, 503, "gateway_unavailable")
		s.must(t, "payments", "sandbox", "provoke")
		s.sql(t, `UPDATE jobs SET due_at = 1 WHERE kind = 'payment.reconcile' AND state = 'queued'`)
		s.await(t, func() bool { return ann.do(t, "GET", mine, nil).status == 200 })
		ann.get(t, payments+"/invoices").has(t, map[string]string{"data.1.status": "paid", "data.2": ""})

		s.must(t, "payments", "sandbox", "provoke", "--call", "wallet", "error", "error", "error")
		s.sql(t, `UPDATE payment_customers SET wallet_at = 1`)
		ann.do(t, "GET", payments+"/methods", nil).is(t, 200).has(t, map[string]string{"stale": "true",
			"data.0.id": method})
	})
}

func TestWebhooks(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold, set("server.rate_limit.unauthenticated_per_minute", "1000"))
		ann := s.user(t, "owner")
		ann.card(t, cardNumber)
		ann.subscribe(t, "basic")
		gateway := s.anonymous()
		const path = payments + "/webhooks/sandbox/default"
		customer := s.only(t, `SELECT external_id FROM payment_customers`)
		body := func(id string) string {
			return `{"id":"` + id + `","object":"event","type":"invoice.paid","api_version":"2099-01-01","created":1,"data":{"object":{"object":"invoice","customer":"` + customer + `"}}}`
		}
		post := func(body string, instant time.Time, key string, headers ...string) *answer {
			return gateway.do(t, "POST", path, body,
				append(headers, "Stripe-Signature: "+payment.Sign(secret.New(key), []byte(body), instant))...)
		}
		now := time.Now()
		t.Run("a webhook sent 100 times is stored once", func(t *testing.T) {
			for range 100 {
				post(body("evt_same"), now, webhookKey, "Host: anywhere.example").is(t, 200).has(t,
					map[string]string{"received": "true"})
			}
			if out := s.must(t, "payments", "events", "list", "--limit", "1000"); strings.Count(out, "evt_same") != 1 {
				t.Error(out)
			}
			s.await(t, func() bool {
				return strings.Contains(s.must(t, "payments", "events", "list", "--state", "done", "--limit", "1000"),
					"evt_same")
			})
		})
		t.Run("a webhook with a wrong signature is refused", func(t *testing.T) {
			post(body("evt_wrong"), now, "whsec_wrong").problem(t, 400, "webhook_signature_invalid")
			post(body("evt_wrong"), now.Add(-6*time.Minute), webhookKey).problem(t, 400, "webhook_signature_invalid")
			gateway.do(t, "POST", path, body("evt_other"), "Stripe-Signature: "+payment.Sign(secret.New(webhookKey),
				[]byte(body("evt_wrong")), now)).problem(t, 400, "webhook_signature_invalid")
			gateway.do(t, "POST", path, body("evt_wrong")).problem(t, 400, "webhook_signature_invalid")
			post("no event", now, webhookKey).problem(t, 400, "webhook_malformed")
			post(strings.Repeat("x", 2<<20), now, webhookKey).problem(t, 413, "body_too_large")
			gateway.do(t, "POST", payments+"/webhooks/stripe/default", body("evt_wrong")).problem(t, 404,
				"gateway_not_found")
			gateway.do(t, "POST", payments+"/webhooks/sandbox/other", body("evt_wrong")).problem(t, 404,
				"gateway_not_found")
			if out := s.must(t, "payments", "events", "list", "--limit", "1000"); strings.Contains(out, "evt_wrong") ||
				strings.Contains(out, "evt_other") {
				t.Error(out)
			}
		})
		t.Run("a webhook that fails permanently is a dead letter and can be replayed", func(t *testing.T) {
			s.sql(t, `UPDATE payment_events SET state = 'dead', ended_at = 1, failure = 'gateway_error'
				WHERE id = 'evt_same'`)
			if out := s.must(t, "payments", "events", "list", "--state", "dead"); !strings.Contains(out, "evt_same") {
				t.Error(out)
			}
			s.must(t, "payments", "events", "replay", "evt_same")
			s.await(t, func() bool {
				return !strings.Contains(s.must(t, "payments", "events", "list", "--state", "dead"), "evt_same")
			})
			if out := s.run(t, "payments", "events", "replay", "evt_none"); out.code == 0 {
				t.Error("what nobody told of was replayed")
			}
		})
		t.Run("a webhook about an unknown customer is stored and ignored", func(t *testing.T) {
			post(strings.ReplaceAll(body("evt_foreign"), customer, "cus_foreign"), now, webhookKey).is(t, 200)
			if out := s.must(t, "payments", "events", "list", "--state", "ignored"); !strings.Contains(out,
				"evt_foreign") {
				t.Error(out)
			}
		})
	})
}
