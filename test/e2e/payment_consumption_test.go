package e2e

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestUsageIsConsumedCorrectedAndShownByDay(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, limitedUsage, set("server.rate_limit.burst", "1000"))
		ann, member := s.user(t, "owner"), s.user(t, "member")
		const usage = payments + "/usage"
		message := object{"feature": "messages", "quantity": 1}
		t.Run("without a plan nothing can be consumed", func(t *testing.T) {
			ann.do(t, "POST", usage+"/consume", message).problem(t, 409, "plan_limit_reached").has(t, map[string]string{
				"plan_limit.name": "messages", "plan_limit.limit": "0", "plan_limit.upgrade_plan_id": "free",
			})
		})
		ann.subscribe(t, "free")
		t.Run("of 60 calls at the same time, as many succeed as the limit allows", func(t *testing.T) {
			var succeeded, refused atomic.Int32
			var wg sync.WaitGroup
			for range 60 {
				wg.Go(func() {
					a, err := ann.try(t, "POST", usage+"/consume", message)
					switch {
					case err == nil && a.status == 200:
						succeeded.Add(1)
					case err == nil && a.status == 409 && a.at("code") == "plan_limit_reached":
						refused.Add(1)
					default:
						t.Errorf("%v %v", a, err)
					}
				})
			}
			wg.Wait()
			if succeeded.Load() != 10 || refused.Load() != 50 {
				t.Errorf("%d calls succeeded, and %d were refused", succeeded.Load(), refused.Load())
			}
		})
		t.Run("a correction makes room, but not more than was used", func(t *testing.T) {
			ann.do(t, "POST", usage, object{"feature": "messages", "quantity": -11}).problem(t, 409, "usage_below_zero")
			ann.do(t, "POST", usage, object{"feature": "messages", "quantity": -4}).is(t, 200).has(t,
				map[string]string{"used": "6", "remaining": "4"})
			consume := object{"feature": "messages", "quantity": 4, "idempotency_key": "four"}
			for _, repeated := range []string{"false", "true"} {
				ann.do(t, "POST", usage+"/consume", consume).is(t, 200).has(t,
					map[string]string{"used": "10", "repeated": repeated})
			}
			ann.do(t, "POST", usage+"/consume", object{"feature": "tokens", "quantity": 1}).problem(t, 422,
				"unknown_feature")
			ann.do(t, "POST", usage+"/consume", object{"feature": "messages", "quantity": -1}).problem(t, 422,
				"invalid_fields")
			member.do(t, "POST", usage+"/consume", message).problem(t, 403, "billing_role_required")
		})
		t.Run("a batch has a result for each report", func(t *testing.T) {
			yesterday := time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339)
			a := ann.do(t, "POST", usage+"/batch", object{"reports": []object{
				{"feature": "messages", "quantity": 5, "idempotency_key": "b"},
				{"feature": "messages", "quantity": 5, "idempotency_key": "b"},
				{"feature": "messages", "quantity": 6, "idempotency_key": "b"},
				{"feature": "tokens", "quantity": 1},
				{"feature": "messages", "quantity": -99},
				{"feature": "messages", "quantity": 1, "timestamp": yesterday},
				{"feature": "messages", "quantity": -5},
			}}).is(t, 200)
			a.has(t, map[string]string{
				"results.0.usage.used": "15", "results.0.error": "null", "results.1.usage.repeated": "true",
				"results.2.error.code": "idempotency_key_reused", "results.2.usage": "null",
				"results.3.error.code": "unknown_feature", "results.4.error.code": "usage_below_zero",
				"results.5.error.code": "invalid_fields", "results.5.error.errors.0.pointer": "/timestamp",
				"results.6.usage.used": "10", "results.7": "",
			})
			member.do(t, "POST", usage+"/batch", object{"reports": []object{message}}).problem(t, 403,
				"billing_role_required")
			ann.do(t, "POST", usage+"/batch", object{"reports": []object{}}).problem(t, 422, "invalid_fields")
			many := make([]object, 1000)
			for n := range many {
				many[n] = object{"feature": "messages", "quantity": 1, "idempotency_key": fmt.Sprintf("many-%0200d", n)}
			}
			for _, repeated := range []string{"false", "true"} {
				ann.do(t, "POST", usage+"/batch", object{"reports": many}).is(t, 200).has(t, map[string]string{
					"results.999.usage.repeated": repeated, "results.1000": "",
				})
			}
			ann.do(t, "POST", usage+"/batch", object{"reports": append(many, message)}).problem(t, 422,
				"invalid_fields")
			ann.get(t, payments+"/entitlements", "Cache-Control: no-cache").has(t,
				map[string]string{"limits.messages.used": "1010"})
		})
		t.Run("the history has each day", func(t *testing.T) {
			today := time.Now().UTC().Format(time.DateOnly)
			member.get(t, usage+"?feature=messages").has(t, map[string]string{
				"feature": "messages", "used": "1010", "data.0.date": today, "data.0.used": "1010", "data.1": "",
			})
			member.get(t, usage+"?feature=messages&from=2026-01-01&to=2026-01-31").has(t, map[string]string{
				"from": "2026-01-01", "to": "2026-01-31", "used": "0", "data": "[]",
			})
			member.do(t, "GET", usage+"?feature=messages&from=2024-01-01&to=2026-01-31", nil).problem(t, 400,
				"invalid_parameter")
			member.do(t, "GET", usage+"?feature=messages&from=2024-13-01", nil).problem(t, 400, "invalid_parameter")
			member.do(t, "GET", usage, nil).problem(t, 400, "invalid_parameter")
		})
	})
}
