package e2e

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

// TestAClientThatHangsUpDuringAPayment ends calls while the gateway works on them. Its answers are stored nevertheless:
// by no job, which would come half a minute later.
func TestAClientThatHangsUpDuringAPayment(t *testing.T) {
	api, stripe := newStripe(t)
	s := start(t, "sqlite", stripe)
	ann := s.user(t, "owner")
	customer := ann.customer(t)
	order := object{"plan_id": "pro", "quantity": 1, "payment_method_id": api.AddCard(customer, "4242")}
	hangUp := func(t *testing.T, method, path string, body any, headers ...string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		goneSignal := make(chan struct{})
		var first sync.Once
		api.Provoke(func(c stripeapi.Call) (stripeapi.Fault, time.Duration) {
			wait := time.Duration(0)
			if c.Changes() && c.Path != "/v1/customers/"+customer {
				first.Do(func() {
					cancel()
					<-goneSignal
					wait = 300 * time.Millisecond // for a server that ends its own call, too
				})
			}
			return stripeapi.None, wait
		})
		defer api.Provoke(nil)
		request, err := ann.request(ctx, method, path, body, headers...)
		require.NoError(t, err)
		resp, err := http.DefaultTransport.RoundTrip(request)
		if err == nil {
			resp.Body.Close()
			t.Fatalf("it got a response: %s", resp.Status)
		}
		s.sql(t, `UPDATE jobs SET due_at = 9000000000000000 WHERE kind = 'payment.reconcile'`)
		close(goneSignal)
		awaits(t, "the answer is stored", s, func() bool {
			return s.column(t, `SELECT COUNT(*) FROM payment_customers WHERE pending <> ''`)[0] == "0"
		})
	}
	chargedCall := func(t *testing.T, times int) {
		t.Helper()
		if n := len(api.Charges()); n != times {
			t.Errorf("%d charges, want %d", n, times)
		}
	}
	t.Run("a purchase", func(t *testing.T) {
		const key = "Idempotency-Key: order"
		hangUp(t, "POST", payments+"/subscriptions", order, key)
		ann.get(t, mine).has(t, map[string]string{"status": "active", "quantity": "1"})
		ann.create(t, payments+"/subscriptions", order, key).has(t, map[string]string{"subscription.status": "active"})
		chargedCall(t, 1)
	})
	t.Run("a change", func(t *testing.T) {
		const key = "Idempotency-Key: change"
		hangUp(t, "PATCH", mine, object{"quantity": 2}, key)
		ann.get(t, mine).has(t, map[string]string{"quantity": "2"})
		ann.do(t, "PATCH", mine, object{"quantity": 2}, key).is(t, 200).has(t, map[string]string{"quantity": "2"})
		chargedCall(t, 2)
		ann.do(t, "PATCH", mine, object{"quantity": 3}, "Idempotency-Key: next").is(t, 200) // which need not wait
		chargedCall(t, 3)
	})
	t.Run("a change that has to wait is made when it is repeated with its key", func(t *testing.T) {
		lost := func(c stripeapi.Call) (stripeapi.Fault, time.Duration) {
			if c.Changes() {
				return stripeapi.Dropped, 0
			}
			return stripeapi.None, 0
		}
		api.Provoke(lost)
		if a := ann.do(t, "PATCH", mine, object{"quantity": 4}, "Idempotency-Key: lost"); a.status < 500 {
			t.Errorf("%s", a)
		}
		const key = "Idempotency-Key: waits"
		ann.do(t, "PATCH", mine, object{"quantity": 5}, key).problem(t, 409, "payment_pending")
		ann.do(t, "DELETE", mine, nil, "Idempotency-Key: end").problem(t, 409, "payment_pending")
		api.Provoke(nil)
		s.reconciled(t, s)
		ann.do(t, "PATCH", mine, object{"quantity": 4}, "Idempotency-Key: lost").is(t, 200).has(t,
			map[string]string{"quantity": "4"})
		chargedCall(t, 4)
		ann.do(t, "PATCH", mine, object{"quantity": 5}, key).is(t, 200).has(t, map[string]string{"quantity": "5"})
		ann.do(t, "PATCH", mine, object{"quantity": 6}, key).problem(t, 422, "idempotency_key_reused")
		chargedCall(t, 5)
	})
	t.Run("a decline is the result of its key, also with another card", func(t *testing.T) {
		charge := func(card any) {
			s.sql(t, `UPDATE payment_customers SET wallet_at = 1`)
			ann.makeDefault(t, card.(string))
		}
		charge(api.AddCard(customer, "0341"))
		const key = "Idempotency-Key: declined"
		ann.do(t, "PATCH", mine, object{"quantity": 7}, key).problem(t, 402, "card_declined")
		charge(order["payment_method_id"])
		ann.do(t, "PATCH", mine, object{"quantity": 7}, key).problem(t, 402, "card_declined")
		ann.get(t, mine).has(t, map[string]string{"quantity": "5"})
		ann.do(t, "PATCH", mine, object{"quantity": 7}, "Idempotency-Key: new").is(t, 200)
	})
	t.Run("a cancellation", func(t *testing.T) {
		const key = "Idempotency-Key: end" // which had to wait before
		hangUp(t, "DELETE", mine, nil, key)
		ann.do(t, "DELETE", mine, nil, key).is(t, 204)
		ann.do(t, "GET", mine, nil).problem(t, 404, "no_active_subscription")
		if live := api.Live(customer); len(live) > 0 {
			t.Errorf("it goes on: %v", live)
		}
	})
}
