package e2e

import (
	"strings"
	"testing"
)

const addOnSettings = `payments: {gateway: sandbox, grace_days: 7, plans: [
      {id: team, name: Team, price: {amount: 900, currency: usd}, interval: month, limits: {messages: 100, members: 2}},
      {id: yearly, name: Yearly, price: {amount: 9000, currency: usd}, interval: year, limits: {messages: 100}},
      {id: large, name: Large, price: {amount: 2900, currency: usd}, interval: month, limits: {messages: 1000}}],
      add_ons: [
      {id: pack, name: Pack, description: More., price: {amount: 500, currency: usd}, interval: month,
        limits: {messages: 50, members: 1}},
      {id: old, name: Old, price: {amount: 100, currency: usd}, interval: month, sold: false}]}`

func TestAddOns(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, configured("orgs:\n  - slug: default\n    "+addOnSettings))
		o := s.user(t, "owner")
		o.card(t, cardNumber)
		order := func(id string, quantity any) object {
			return object{"add_ons": []object{{"id": id, "quantity": quantity}}}
		}
		t.Run("add-ons are listed with the plans", func(t *testing.T) {
			o.get(t, payments+"/plans").has(t, map[string]string{"add_ons.0.id": "pack", "add_ons.0.name": "Pack",
				"add_ons.0.price.amount": "500", "add_ons.0.limits.messages": "50", "add_ons.0.available": "true",
				"add_ons.0.interval": "month", "add_ons.1": ""})
		})
		t.Run("they are bought with the first plan", func(t *testing.T) {
			first := s.user(t, "owner", "--workspace", "first")
			with := func(orders ...object) object { return object{"plan_id": "team", "add_ons": orders} }
			pack := object{"id": "pack", "quantity": 2}
			first.do(t, "POST", payments+"/subscriptions", with(object{"id": "none", "quantity": 1})).problem(t, 404,
				"add_on_not_found")
			first.do(t, "POST", payments+"/subscriptions", with(object{"id": "old", "quantity": 1})).problem(t, 422,
				"add_on_unavailable")
			first.do(t, "POST", payments+"/subscriptions", object{"plan_id": "yearly",
				"add_ons": []object{pack}}).problem(
				t, 422, "add_on_unavailable")
			first.do(t, "POST", payments+"/subscriptions", with(pack, pack)).problem(t, 422, "invalid_fields")
			first.do(t, "POST", payments+"/subscriptions", with(pack)).problem(t, 402, "payment_method_required")
			first.card(t, cardNumber)
			first.do(t, "POST", payments+"/subscriptions", with(pack), "Idempotency-Key: first").is(t, 201).has(t,
				map[string]string{"subscription.items.1.add_on_id": "pack", "subscription.items.1.quantity": "2"})
			first.get(t, payments+"/invoices").has(t, map[string]string{"data.0.total.amount": "1900", "data.1": ""})
			first.get(t, entitlements).has(t, map[string]string{"limits.messages.limit": "200"})
			first.get(t, "/api/events?type=subscription.requested").has(t,
				map[string]string{"data.0.data.add_ons.0": "pack"})
		})
		t.Run("they are bought on a page", func(t *testing.T) {
			visitor := s.user(t, "owner", "--workspace", "visitor")
			order := object{"plan_id": "team", "add_ons": []object{{"id": "none", "quantity": 3}},
				"success_url": shopOrigin, "cancel_url": shopOrigin}
			visitor.do(t, "POST", checkoutPath, order).problem(t, 404, "add_on_not_found")
			order["add_ons"] = []object{{"id": "old", "quantity": 1}}
			visitor.do(t, "POST", checkoutPath, order).problem(t, 422, "add_on_unavailable")
			order["add_ons"] = []object{{"id": "pack", "quantity": 3}}
			page := visitor.do(t, "POST", checkoutPath, order).is(t, 201).at("url")
			s.visit(t, page, payForm(cardNumber)).has(t, 303)
			s.await(t, func() bool { return visitor.get(t, entitlements).at("limits.messages.limit") == "250" })
			visitor.get(t, mine).has(t, map[string]string{"items.1.add_on_id": "pack", "items.1.quantity": "3"})
		})
		t.Run("they need a subscription", func(t *testing.T) {
			o.do(t, "PATCH", mine, order("pack", 1)).problem(t, 404, "no_active_subscription")
		})
		o.subscribe(t, "team")
		t.Run("the items of a subscription are listed", func(t *testing.T) {
			o.get(t, mine).has(t, map[string]string{"items.0.kind": "plan", "items.0.name": "Team",
				"items.0.quantity": "1", "items.0.unit_price.amount": "900", "items.0.interval": "month",
				"items.0.add_on_id": "null", "items.1": ""})
		})
		t.Run("an add-on is bought at the price of its preview", func(t *testing.T) {
			preview := o.do(t, "POST", mine+"/preview", order("pack", 2)).is(t, 200).has(t, map[string]string{
				"at_renewal": "false", "due_today.amount": "1000", "due_next.amount": "1900", "plan_id": "team"})
			body := order("pack", 2)
			body["preview"] = preview.at("signature")
			o.do(t, "PATCH", mine, body).is(t, 200).has(t, map[string]string{"items.1.kind": "add_on",
				"items.1.add_on_id": "pack", "items.1.name": "Pack", "items.1.quantity": "2", "quantity": "1"})
			o.get(t, payments+"/invoices").has(t, map[string]string{"data.0.total.amount": "1000"})
			body["add_ons"] = []object{{"id": "pack", "quantity": 3}}
			o.do(t, "PATCH", mine, body).problem(t, 409, "preview_outdated")
		})
		t.Run("entitlements are the sum", func(t *testing.T) {
			o.get(t, entitlements).has(t, map[string]string{"limits.messages.limit": "200",
				"limits.members.limit": "4"})
			o.do(t, "POST", payments+"/usage/consume", object{"feature": "messages", "quantity": 200}).is(t, 200)
			o.do(t, "POST", payments+"/usage/consume", object{"feature": "messages", "quantity": 1}).
				problem(t, 409, "plan_limit_reached").has(t, map[string]string{"plan_limit.limit": "200",
				"plan_limit.upgrade_plan_id": "large"})
		})
		t.Run("what is less becomes credit", func(t *testing.T) {
			o.do(t, "PATCH", mine, order("pack", 1)).is(t, 200).has(t, map[string]string{"items.1.quantity": "1"})
			s.await(t, func() bool { return o.get(t, mine).at("credit.amount") == "500" })
			o.get(t, entitlements).has(t, map[string]string{"limits.messages.limit": "150"})
		})
		t.Run("another plan keeps them", func(t *testing.T) {
			o.do(t, "PATCH", mine, object{"plan_id": "large"}).is(t, 200).has(t, map[string]string{
				"items.0.name": "Large", "items.1.add_on_id": "pack", "items.1.quantity": "1"})
			o.do(t, "PATCH", mine, object{"plan_id": "yearly"}).problem(t, 422, "plan_unavailable")
			o.get(t, entitlements).has(t, map[string]string{"limits.messages.limit": "1050"})
		})
		t.Run("bad orders are refused", func(t *testing.T) {
			o.do(t, "PATCH", mine, order("none", 1)).problem(t, 404, "add_on_not_found")
			o.do(t, "PATCH", mine, order("old", 1)).problem(t, 422, "add_on_unavailable")
			o.do(t, "POST", previewPath, order("none", 1)).problem(t, 404, "add_on_not_found")
			o.do(t, "POST", previewPath, order("old", 1)).problem(t, 422, "add_on_unavailable")
			for _, quantity := range []any{-1, 10_001, 1.5, "2", nil} {
				o.do(t, "PATCH", mine, order("pack", quantity)).problem(t, 422, "invalid_fields")
			}
			o.do(t, "PATCH", mine, object{"add_ons": []object{}}).problem(t, 422, "invalid_fields")
			body := order("pack", 2)
			body["quantity"] = 2
			o.do(t, "PATCH", mine, body).problem(t, 422, "invalid_fields")
		})
		t.Run("a change that waits for the end of the period keeps them, and comes first", func(t *testing.T) {
			o.do(t, "PATCH", mine, object{"plan_id": "team"}).is(t, 200).has(t,
				map[string]string{"pending_change.plan_id": "team"})
			o.do(t, "PATCH", mine, order("pack", 2)).problem(t, 409, "change_scheduled")
			o.do(t, "POST", mine+"/preview", order("pack", 2)).problem(t, 409, "change_scheduled")
			s.must(t, "payments", "sandbox", "advance", "32d")
			s.await(t, func() bool { return o.get(t, mine).at("plan_id") == "team" })
			o.get(t, mine).has(t, map[string]string{"items.1.add_on_id": "pack", "items.1.quantity": "1"})
		})
		t.Run("it is removed", func(t *testing.T) {
			o.do(t, "PATCH", mine, order("pack", 0)).is(t, 200).has(t, map[string]string{"items.1": ""})
			o.get(t, entitlements).has(t, map[string]string{"limits.messages.limit": "100"})
		})
		t.Run("a declined card changes nothing", func(t *testing.T) {
			card := o.card(t, "4000000000000341")
			o.do(t, "POST", payments+"/methods/"+card+"/default", nil).is(t, 200)
			o.do(t, "PATCH", mine, order("pack", 10)).problem(t, 402, "card_declined")
			o.get(t, mine).has(t, map[string]string{"items.1": ""})
		})
	})
}

func TestAddOnsInATrial(t *testing.T) {
	t.Parallel()
	settings := strings.Replace(addOnSettings, "interval: month,", "interval: month, trial_days: 14,", 1)
	s := start(t, sqlite, configured("orgs:\n  - slug: default\n    "+settings))
	two := object{"add_ons": []object{{"id": "pack", "quantity": 2}}}
	begin := func(t *testing.T, flags ...string) *client {
		t.Helper()
		c := s.user(t, "owner", flags...)
		c.card(t, cardNumber)
		c.create(t, payments+"/subscriptions", object{"plan_id": "team"}).has(t,
			map[string]string{"subscription.status": "trialing"})
		return c
	}
	t.Run("they cost nothing until it ends, and count at once", func(t *testing.T) {
		o := begin(t)
		o.do(t, "POST", previewPath, two).is(t, 200).has(t,
			map[string]string{"due_today.amount": "0", "due_next.amount": "1900"})
		o.do(t, "PATCH", mine, two).is(t, 200).has(t,
			map[string]string{"status": "trialing", "items.1.quantity": "2"})
		o.get(t, entitlements).has(t, map[string]string{"limits.messages.limit": "200"})
		o.get(t, payments+"/invoices").has(t, map[string]string{"data.0.total.amount": "0", "data.1": ""})
		o.do(t, "POST", clock, object{"advance_seconds": 15 * 24 * 3600}).is(t, 200)
		o.get(t, payments+"/invoices").has(t, map[string]string{"data.0.total.amount": "1900", "data.0.status": "paid"})
	})
	t.Run("after it was ended, they are paid at once", func(t *testing.T) {
		o := begin(t, "--workspace", "second")
		o.do(t, "PATCH", mine, object{"trial": false}).is(t, 200).has(t, map[string]string{"status": "active"})
		o.do(t, "PATCH", mine, two).is(t, 200)
		o.get(t, payments+"/invoices").has(t, map[string]string{"data.0.total.amount": "1000", "data.0.status": "paid",
			"data.1.total.amount": "900"})
	})
}
