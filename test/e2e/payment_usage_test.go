package e2e

import (
	"slices"
	"testing"
)

// limitedUsage sells a free plan and a paid one, both with a limit that the application counts.
func limitedUsage(d *deployment) {
	configured(`orgs:
  - slug: default
    payments: {gateway: sandbox, grace_days: 7, webhook_secrets: ['env:TEST_WEBHOOK_SECRET'], plans: [
      {id: free, name: Free, price: {amount: 0, currency: usd}, interval: month, limits: {messages: 10}},
      {id: paid, name: Paid, price: {amount: 900, currency: usd}, interval: month, limits: {messages: 100}}]}`)(d)
	knowsWebhookKey(d)
}

func TestUsageBelongsToTheWorkspace(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, limitedUsage)
		ann := s.user(t, "owner")
		report := func(t *testing.T, quantity int, usedText string) {
			t.Helper()
			ann.do(t, "POST", payments+"/usage", object{"feature": "messages", "quantity": quantity}).is(t, 200).has(t,
				map[string]string{"used": usedText})
		}
		leave := func(t *testing.T, usedText, remaining string) {
			t.Helper()
			ann.get(t, payments+"/entitlements", "Cache-Control: no-cache").has(t,
				map[string]string{"limits.messages.used": usedText, "limits.messages.remaining": remaining})
		}
		repeat := func(t *testing.T, order object) {
			t.Helper()
			s.must(t, "payments", "sandbox", "advance", "1h")
			ann.do(t, "DELETE", mine, nil).is(t, 204)
			ann.create(t, payments+"/subscriptions", order)
		}
		ann.subscribe(t, "free")
		report(t, 10, "10")
		t.Run("who ends a free plan and begins it again has used as much", func(t *testing.T) {
			for range 2 {
				repeat(t, object{"plan_id": "free"})
				leave(t, "10", "0")
			}
		})
		t.Run("a code for 100 % resets nothing", func(t *testing.T) {
			repeat(t, object{"plan_id": "paid", "promotion_code": "FREE1"})
			leave(t, "10", "90")
		})
		t.Run("a subscription that is paid begins a new period at once", func(t *testing.T) {
			ann.card(t, cardNumber)
			repeat(t, object{"plan_id": "paid"})
			leave(t, "0", "100")
			report(t, 7, "7")
		})
		t.Run("a free plan after it goes on with that period", func(t *testing.T) {
			repeat(t, object{"plan_id": "free"})
			leave(t, "7", "3")
		})
		t.Run("the next month begins with nothing", func(t *testing.T) {
			s.must(t, "payments", "sandbox", "advance", "31d")
			leave(t, "0", "10")
		})
	})
}

func TestARetiredPlanIsNotSold(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, configured(`orgs:
  - slug: default
    payments: {gateway: sandbox, plans: [
      {id: old, name: Old, price: {amount: 500, currency: usd}, interval: month, sold: false},
      {id: new, name: New, price: {amount: 900, currency: usd}, interval: month}]}`))
		ann := s.user(t, "owner", "--operator")
		ann.card(t, cardNumber)
		if ids := ann.get(t, payments+"/plans").each(t, "id"); !slices.Equal(ids, []string{"new"}) {
			t.Errorf("the plans %v are shown", ids)
		}
		retired := object{"plan_id": "old"}
		ann.do(t, "POST", payments+"/subscriptions", retired).problem(t, 422, "plan_unavailable")
		ann.do(t, "POST", adjustmentsPath, ann.gives("comp", retired)).problem(t, 422, "plan_unavailable")
		ann.subscribe(t, "new")
		ann.do(t, "PATCH", mine, retired).problem(t, 422, "plan_unavailable")
		ann.do(t, "POST", previewPath, retired).problem(t, 422, "plan_unavailable")
	})
}
