package e2e

import (
	"fmt"
	"strconv"
	"testing"
)

func TestPromotionCodes(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold, set("payments.card_limits.invalid_codes_per_hour", "10"))
		ann := s.user(t, "owner")
		ann.card(t, cardNumber)
		buy := func(c *client, code string) *answer {
			return c.do(t, "POST", payments+"/subscriptions", object{"plan_id": "basic", "quantity": 2,
				"promotion_code": code})
		}
		t.Run("invalid codes get the same response, whatever the reason", func(t *testing.T) {
			first := buy(ann, "NEVER-THERE").problem(t, 422, "promotion_code_invalid")
			for _, code := range []string{"EXPIRED", "USEDUP", "FOREIGN"} {
				if a := buy(ann, code).problem(t, 422, "promotion_code_invalid"); a.at("detail") != first.at("detail") {
					t.Errorf("%s: %s, another: %s", code, a, first)
				}
			}
			ann.do(t, "GET", mine, nil).problem(t, 404, "no_active_subscription")
		})
		t.Run("a discount is shown with the subscription and its invoices", func(t *testing.T) {
			buy(ann, "half3").is(t, 201).has(t, map[string]string{
				"subscription.discount.percent_off": "50", "subscription.discount.amount_off": "null",
				"subscription.discount.duration": "repeating", "subscription.discount.duration_in_months": "3",
			})
			if end := ann.get(t, mine).at("discount.ends_at"); end == "null" || end == "" {
				t.Errorf("ends_at = %q", end)
			}
			ann.get(t, payments+"/invoices").has(t, map[string]string{
				"data.0.subtotal.amount": "1800", "data.0.discount.amount": "900", "data.0.total.amount": "900",
				"data.0.discounts.0.percent_off": "50", "data.1": "",
			})
		})
		t.Run("a change can carry a code", func(t *testing.T) {
			patch := object{"promotion_code": "EXPIRED"}
			ann.do(t, "PATCH", mine, patch).problem(t, 422, "promotion_code_invalid")
			ann.get(t, mine).has(t, map[string]string{"discount.percent_off": "50"})
			patch = object{"plan_id": "pro", "promotion_code": "FIVEOFF"}
			ann.do(t, "PATCH", mine, patch).is(t, 200).has(t, map[string]string{"plan_id": "pro",
				"discount": "null"}) // used
			patch = object{"promotion_code": "TENOFF"}
			ann.do(t, "PATCH", mine, patch).is(t, 200).has(t, map[string]string{"discount.percent_off": "10",
				"discount.ends_at": "null"})
			s.must(t, "payments", "sandbox", "advance", "32d")
			s.await(t, func() bool { return ann.get(t, payments+"/invoices").at("data.0.discount.amount") == "580" })
		})
		t.Run("guessing is limited", func(t *testing.T) {
			ben := s.user(t, "owner", "--workspace", "second")
			ben.card(t, cardNumber)
			for n := range 10 {
				buy(ben, fmt.Sprint("GUESS-", n)).problem(t, 422, "promotion_code_invalid")
			}
			a := buy(ben, "TENOFF").problem(t, 429, "promotion_code_rate_limited")
			if wait, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || wait < 1 || wait > 3600 {
				t.Errorf("Retry-After: %q", a.header.Get("Retry-After"))
			}
			ben.subscribe(t, "basic")
			triedValues := object{"promotion_code": "TENOFF"}
			ben.do(t, "PATCH", mine, triedValues).problem(t, 429, "promotion_code_rate_limited")
			ben.do(t, "POST", previewPath, triedValues).problem(t, 429, "promotion_code_rate_limited")
		})
	})
}
