package e2e

import (
	"slices"
	"testing"
)

// TestRepeatedPaymentCalls does what docs/payments.md says about calls whose response gets lost.
func TestRepeatedPaymentCalls(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold)
		ann := s.user(t, "owner", "--operator")
		ann.card(t, cardNumber)
		// lose makes a call of the gateway take effect without a response, however often it is repeated at once.
		lose := func(t *testing.T, call string) {
			t.Helper()
			s.must(
				t,
				"payments",
				"sandbox",
				"provoke",
				"--call",
				call,
				"timeout_after",
				"timeout_after",
				"timeout_after",
			)
		}
		const order, change, end = "Idempotency-Key: order", "Idempotency-Key: change", "Idempotency-Key: end"
		waits := func(t *testing.T, a *answer) {
			t.Helper()
			a.problem(t, 409, "payment_pending")
			if a.header.Get("Retry-After") == "" || a.header.Get("Idempotency-Replayed") != "" {
				t.Errorf("%v", a.header)
			}
		}
		paid := func(t *testing.T, amounts ...string) {
			t.Helper()
			got := ann.get(t, payments+"/invoices?status=paid").each(t, "amount_paid.amount")
			if !slices.Equal(got, amounts) {
				t.Errorf("paid %v, want %v", got, amounts)
			}
		}
		t.Run("a purchase without a response is repeated with its key, and charged once", func(t *testing.T) {
			plan := object{"plan_id": "basic"}
			lose(t, "subscribe")
			ann.do(t, "POST", payments+"/subscriptions", plan, order).problem(t, 504, "gateway_timeout")
			for range 2 {
				waits(t, ann.do(t, "POST", payments+"/subscriptions", plan, "Idempotency-Key: another"))
			}
			s.reconciled(t, s)
			ann.create(t, payments+"/subscriptions", plan, order).
				has(t, map[string]string{"subscription.status": "active"})
			ann.do(t, "POST", payments+"/subscriptions", plan, "Idempotency-Key: another").
				problem(t, 409, "subscription_exists")
			paid(t, "900")
		})
		t.Run("a change without a response is repeated with its key", func(t *testing.T) {
			extra := object{"quantity": 2}
			tag := "If-Match: " + ann.get(t, mine).header.Get("ETag")
			lose(t, "amend")
			ann.do(t, "PATCH", mine, extra, change, tag).problem(t, 504, "gateway_timeout")
			waits(t, ann.do(t, "PATCH", mine, extra))
			waits(t, ann.do(t, "POST", previewPath, extra))
			waits(t, ann.do(t, "POST", adjustmentsPath, ann.gives("comp", nil)))
			waits(t, ann.do(t, "POST", checkoutPath, object{"plan_id": "basic", "success_url": shopOrigin,
				"cancel_url": shopOrigin}))
			s.reconciled(t, s)
			ann.do(t, "PATCH", mine, extra, change, tag).is(t, 200).has(t, map[string]string{"quantity": "2"})
			if a := ann.do(t, "PATCH", mine, extra, change, tag).is(t, 200); a.header.Get(
				"Idempotency-Replayed",
			) != "true" {
				t.Errorf("the stored response is carried out: %v", a.header)
			}
			ann.do(t, "PATCH", mine, object{"quantity": 9}, change).problem(t, 422, "idempotency_key_reused")
			ann.do(t, "PATCH", mine, extra, "Idempotency-Key: late", tag).problem(t, 412, "revision_mismatch")
			paid(t, "900", "900")
		})
		t.Run("a change without a response is repeated at once, too", func(t *testing.T) {
			lose(t, "amend")
			key := "Idempotency-Key: at once"
			ann.do(t, "PATCH", mine, object{"quantity": 3}, key).problem(t, 504, "gateway_timeout")
			ann.do(t, "PATCH", mine, object{"quantity": 3}, key).is(t, 200).has(t, map[string]string{"quantity": "3"})
			paid(t, "900", "900", "900")
		})
		t.Run("a change with a preview is repeated with it", func(t *testing.T) {
			extra := object{"quantity": 4}
			extra["preview"] = ann.do(t, "POST", previewPath, extra).is(t, 200).at("signature")
			lose(t, "amend")
			ann.do(t, "PATCH", mine, extra).problem(t, 504, "gateway_timeout")
			waits(t, ann.do(t, "PATCH", mine, extra))
			s.reconciled(t, s)
			ann.do(t, "PATCH", mine, extra).is(t, 200).has(t, map[string]string{"quantity": "4"})
			other := object{"quantity": 5, "preview": extra["preview"]}
			ann.do(t, "PATCH", mine, other).problem(t, 409, "preview_outdated")
			paid(t, "900", "900", "900", "900")
		})
		t.Run("a cancellation without a response is repeated with its key, and ends no other subscription",
			func(t *testing.T) {
				lose(t, "cancel")
				ann.do(t, "DELETE", mine, nil, end).problem(t, 504, "gateway_timeout")
				s.reconciled(t, s)
				ann.do(t, "DELETE", mine, nil, end).is(t, 204)
				ann.do(t, "DELETE", mine, nil).problem(t, 404, "no_active_subscription")
				ann.subscribe(t, "basic")
				ann.do(t, "DELETE", mine, nil, end).is(t, 204)
				ann.get(t, mine).has(t, map[string]string{"status": "active"})
			})
	})
}
