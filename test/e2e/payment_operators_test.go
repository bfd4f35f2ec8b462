package e2e

import (
	"testing"

	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

const (
	overviewPath    = payments + "/overview"
	adjustmentsPath = payments + "/adjustments"
)

// gives returns the body of an adjustment of c's workspace.
func (c *client) gives(kind string, more object) object {
	body := object{"workspace_id": c.workspace, "kind": kind, "reason": "Sorry for the outage"}
	for name, value := range more {
		body[name] = value
	}
	return body
}

// adjust makes an adjustment.
func (c *client) adjust(t *testing.T, body object, headers ...string) *answer {
	t.Helper()
	return c.do(t, "POST", adjustmentsPath, body, headers...).is(t, 200)
}

func TestOperatorsSeeTheBusiness(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold)
		olga := s.user(t, "owner", "--operator")
		ann, eve := s.user(t, "owner", "--workspace", "ann"), s.user(t, "owner", "--workspace", "eve")
		olga.get(t, overviewPath).has(t, map[string]string{"mrr": "[]", "churn.rate": "null", "gateway": "sandbox"})
		ann.card(t, cardNumber)
		ann.create(t, payments+"/subscriptions", object{"plan_id": "basic", "quantity": 3})
		eve.subscribe(t, "try")

		t.Run("in sums and in a list", func(t *testing.T) {
			olga.get(t, overviewPath).has(t, map[string]string{
				"mrr.0.amount": "2700", "mrr.0.currency": "usd", "mrr.1": "", "subscriptions.active": "1",
				"subscriptions.trialing": "1", "past_due.subscriptions": "0", "trials_ending": "0",
			})
			p := olga.get(t, payments+"/subscriptions?limit=1")
			if p.at("data.1") != "" || p.at("next_cursor") == "null" {
				t.Errorf("a page of one: %s", p)
			}
			olga.get(t, payments+"/subscriptions?status=trialing").has(t, map[string]string{
				"data.0.plan_id": "try", "data.0.workspace_id": eve.workspace, "data.0.status": "trialing",
				"data.0.monthly_revenue.amount": "0", "data.1": "",
			})
			olga.get(t, payments+"/subscriptions?status=active").has(t, map[string]string{
				"data.0.workspace_id": ann.workspace, "data.0.quantity": "3", "data.0.monthly_revenue.amount": "2700",
				"data.0.entitled": "true", "data.1": "", "next_cursor": "null",
			})
			ann.do(t, "GET", overviewPath, nil).problem(t, 403, "forbidden")
			olga.do(t, "GET", payments+"/subscriptions?status=none", nil).problem(t, 400, "invalid_parameter")
		})
		t.Run("a trial that ends soon, and one that lasts longer", func(t *testing.T) {
			eve.do(t, "POST", payments+"/sandbox/clock", object{"advance_seconds": 10 * 86400}).is(t, 200)
			olga.get(t, overviewPath).has(t, map[string]string{"trials_ending": "1"})
			previous := eve.get(t, mine).at("trial_end")
			a := olga.adjust(t, eve.gives("trial_extension", object{"days": 30}))
			a.has(t, map[string]string{"kind": "trial_extension", "subscription.status": "trialing"})
			if end := eve.get(t, mine).at("trial_end"); end <= previous || end != a.at("subscription.trial_end") {
				t.Errorf("the trial ends %s, before %s", end, previous)
			}
			olga.get(t, overviewPath).has(t, map[string]string{"trials_ending": "0"})
			olga.do(t, "POST", adjustmentsPath, ann.gives("trial_extension", object{"days": 30})).
				problem(t, 409, "not_in_trial")
		})
		t.Run("a credit", func(t *testing.T) {
			body := ann.gives("credit", object{"amount": 500, "currency": "usd"})
			for range 2 {
				olga.adjust(t, body, "Idempotency-Key: sorry").
					has(t, map[string]string{"credit.amount": "500", "subscription": "null"})
			}
			ann.get(t, mine).has(t, map[string]string{"credit.amount": "500"})
			ann.get(t, "/api/events?type=payment.adjusted").has(t, map[string]string{
				"data.0.data.kind": "credit", "data.0.data.reason": "Sorry for the outage", "data.0.actor": olga.id,
				"data.0.data.amount": "500", "data.1": "",
			})
			body["currency"] = "eur"
			olga.do(t, "POST", adjustmentsPath, body).problem(t, 409, "currency_conflict")
		})
		t.Run("free of charge", func(t *testing.T) {
			olga.adjust(t, ann.gives("comp", object{"months": 2})).
				has(t, map[string]string{"subscription.discount.percent_off": "100"})
			olga.get(t, overviewPath).has(t, map[string]string{"mrr": "[]"})
			ann.do(t, "PATCH", mine, object{"paused": true}).is(t, 200)
			olga.do(t, "POST", adjustmentsPath, ann.gives("comp", nil)).problem(t, 409, "subscription_paused")
			ann.do(t, "DELETE", mine, nil).is(t, 204)
			olga.do(t, "POST", adjustmentsPath, ann.gives("comp", nil)).problem(t, 404, "plan_not_found")
			olga.do(t, "POST", adjustmentsPath, ann.gives("trial_extension", object{"days": 30})).
				problem(t, 404, "no_active_subscription")
			ivy := s.user(t, "owner", "--workspace", "ivy") // without a card
			olga.adjust(t, ivy.gives("comp", object{"plan_id": "pro"})).
				has(t, map[string]string{"subscription.status": "active", "subscription.plan_id": "pro"})
			ivy.get(t, payments+"/entitlements").has(t, map[string]string{"entitled": "true", "plan_id": "pro"})
			olga.do(t, "POST", adjustmentsPath, ivy.gives("comp", object{"plan_id": "basic"})).
				problem(t, 409, "subscription_exists")
			olga.get(t, payments+"/subscriptions?status=canceled").
				has(t, map[string]string{"data.0.workspace_id": ann.workspace, "data.1": ""})
		})
		t.Run("not while the first payment waits for the payer", func(t *testing.T) {
			mia := s.user(t, "owner", "--workspace", "mia")
			mia.card(t, "4000002760003184")
			mia.subscribe(t, "basic")
			olga.do(t, "POST", adjustmentsPath, mia.gives("comp", nil)).problem(t, 409, "subscription_not_active")
		})
		t.Run("what is refused", func(t *testing.T) {
			olga.do(t, "POST", adjustmentsPath, ann.gives("credit", nil)).problem(t, 422, "invalid_fields")
			olga.do(t, "POST", adjustmentsPath, ann.gives("comp", object{"plan_id": "none"})).
				problem(t, 404, "plan_not_found")
			nowhere := ann.gives("comp", object{"plan_id": "pro"})
			nowhere["workspace_id"] = "wsp_00000000000000000000000000"
			olga.do(t, "POST", adjustmentsPath, nowhere).problem(t, 404, "workspace_not_found")
			ann.do(t, "POST", adjustmentsPath, ann.gives("comp", object{"plan_id": "pro"})).problem(t, 403, "forbidden")
		})
	})
}

func TestAdjustmentsAtAGatewayThatFails(t *testing.T) {
	t.Parallel()
	api, stripe := newStripe(t)
	s := start(t, sqlite, stripe)
	olga, ann := s.user(t, "owner", "--operator"), s.user(t, "owner")
	ann.customer(t)
	credit := ann.gives("credit", object{"amount": 500, "currency": "usd"})
	for _, tt := range []struct {
		fault  stripeapi.Fault
		status int
		code   string
	}{
		{stripeapi.Garbage, 502, "gateway_error"}, {stripeapi.Dropped, 503, "gateway_unavailable"},
		{stripeapi.Silent, 504, "gateway_timeout"}, {stripeapi.Denied, 502, "gateway_access_denied"},
	} {
		api.Provoke(whose(tt.fault, "POST /v1/customers/"))
		olga.do(t, "POST", adjustmentsPath, credit, "Idempotency-Key: "+tt.code).problem(t, tt.status, tt.code)
	}
	api.Provoke(nil)
	olga.adjust(t, credit, "Idempotency-Key: gateway_timeout")
}
