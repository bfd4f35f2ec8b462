package e2e

import (
	"maps"
	"strings"
	"testing"
)

func TestATrialWithoutACardEndsEarlyOnlyWithOne(t *testing.T) {
	s := start(t, sqlite, sold)
	ann := s.user(t, "owner")
	ann.create(t, payments+"/subscriptions", object{"plan_id": "try"}).has(t,
		map[string]string{"subscription.status": "trialing"})
	for _, change := range []object{{"trial": false}, {"plan_id": "pro"}} {
		ann.do(t, "POST", previewPath, change).problem(t, 402, "payment_method_required")
		ann.do(t, "PATCH", mine, change).problem(t, 402, "payment_method_required")
	}
	ann.get(t, mine).has(t, map[string]string{"status": "trialing", "plan_id": "try"})
	ann.card(t, cardNumber)
	due := ann.do(t, "POST", previewPath, object{"trial": false}).is(t, 200).at("due_today.amount")
	ann.do(t, "PATCH", mine, object{"trial": false}).is(t, 200).has(t, map[string]string{"status": "active"})
	ann.get(t, payments+"/invoices").has(t, map[string]string{"data.0.amount_paid.amount": due})
}

// TestTrialRules tries to have two trials with one address, and with one card.
func TestTrialRules(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		rules := "grace_days: 7, trials: {card_required: true, once_per_email: true, once_per_card: true},"
		s := start(t, engine, knowsWebhookKey,
			configured("orgs:\n  - slug: default\n    "+strings.Replace(soldSettings, "grace_days: 7,", rules, 1)))
		ann, bob := s.user(t, "owner"), s.user(t, "owner", "--workspace", "second")
		try := object{"plan_id": "try"}
		t.Run("a card is required", func(t *testing.T) {
			ann.do(t, "POST", payments+"/subscriptions", try).problem(t, 402, "payment_method_required")
		})
		t.Run("the first trial begins", func(t *testing.T) {
			ann.card(t, cardNumber)
			ann.create(t, payments+"/subscriptions", try).has(t, map[string]string{"subscription.status": "trialing"})
		})
		t.Run("the same card has no other trial, and another card has", func(t *testing.T) {
			bob.card(t, cardNumber)
			bob.do(t, "POST", payments+"/subscriptions", try).problem(t, 409, "trial_used")
			bob.do(t, "GET", mine, nil).problem(t, 404, "no_active_subscription")
			bob.create(t, payments+"/subscriptions", object{"plan_id": "try", "trial": false}).has(t, map[string]string{
				"subscription.status": "active", "subscription.trial_end": "null",
			})
			bob.do(t, "DELETE", mine, nil).is(t, 204)
			bob.makeDefault(t, bob.card(t, "5555555555554444"))
			bob.create(t, payments+"/subscriptions", try).has(t, map[string]string{"subscription.status": "trialing"})
		})
		t.Run("the same address has no trial in another workspace", func(t *testing.T) {
			ann.create(t, "/api/workspaces", object{"name": "Third"})
			third, _ := ann.key(t, "--workspace", "third")
			third.card(t, "378282246310005")
			third.do(t, "POST", payments+"/subscriptions", try).problem(t, 409, "trial_used")
		})
		page := func(c *client, change object) *answer {
			order := object{"plan_id": "try", "success_url": shopOrigin, "cancel_url": shopOrigin}
			maps.Copy(order, change)
			return c.do(t, "POST", checkoutPath, order)
		}
		t.Run("the same address has none on a checkout page", func(t *testing.T) {
			ann.create(t, "/api/workspaces", object{"name": "Fourth"})
			fourth, _ := ann.key(t, "--workspace", "fourth")
			page(fourth, nil).problem(t, 409, "trial_used")
			page(fourth, object{"trial": false}).is(t, 201)
		})
		t.Run("a trial on a checkout page ends if its card had one", func(t *testing.T) {
			eve := s.user(t, "owner", "--workspace", "fifth")
			s.visit(t, page(eve, nil).is(t, 201).at("url"), payForm(cardNumber)).has(t, 303)
			s.await(t, func() bool {
				return eve.get(t, "/api/events?type=trial.refused").at("data.0.data.kind") == "card"
			})
			eve.do(t, "GET", mine, nil).problem(t, 404, "no_active_subscription")
			eve.get(t, payments+"/invoices").has(t, map[string]string{"data.0.amount_paid.amount": "0", "data.1": ""})
			fay := s.user(t, "owner", "--workspace", "sixth")
			s.visit(t, page(fay, nil).is(t, 201).at("url"), payForm("378282246310005")).has(t, 303)
			fay.becomes(t, "trialing")
		})
		if n := s.only(t, `SELECT COUNT(*) FROM payment_trials WHERE LENGTH(digest) <> 64`); n != "0" {
			t.Errorf("%s marks are no digests", n)
		}
	})
}
