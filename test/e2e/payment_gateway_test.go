package e2e

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

const standInKey = "sk_test_c4n4ry0fthestandin"

// newStripe returns an account at the fake Stripe, and the settings of the only org that uses it.
func newStripe(t *testing.T) (*stripeapi.Server, option) {
	t.Helper()
	api := stripeapi.New(t, standInKey, payment.Plans{
		{ID: "basic", PriceRef: "price_basic", Price: payment.Money{Amount: 900, Currency: "usd"},
			Interval: payment.Month, IntervalCount: 1},
		{ID: "pro", PriceRef: "price_pro", Price: payment.Money{Amount: 2900, Currency: "usd"}, Interval: payment.Month,
			IntervalCount: 1},
		{ID: "pack", PriceRef: "price_pack", Price: payment.Money{Amount: 500, Currency: "usd"}},
	})
	return api, func(d *deployment) {
		d.env = append(d.env, "TEST_STRIPE_KEY="+standInKey)
		knowsWebhookKey(d)
		configured(fmt.Sprintf(`
orgs:
  - slug: default
    payments:
      gateway: stripe
      return_origins: ['https://app.example.com']
      credit_packs:
        - {id: pack, name: Pack, price: {amount: 500, currency: usd}, gateway_price: price_pack, limits: {messages: 1}}
      webhook_secrets: ['env:TEST_WEBHOOK_SECRET']
      stripe: {secret_key: 'env:TEST_STRIPE_KEY', publishable_key: pk_test_1, base_url: %q}
      plans:
        - {id: basic, name: Basic, price: {amount: 900, currency: usd}, interval: month, gateway_price: price_basic,
           limits: {messages: 10}}
        - {id: pro, name: Pro, price: {amount: 2900, currency: usd}, interval: month, gateway_price: price_pro}
`, api.URL))(d)
	}
}

// customer makes the workspace a customer of the gateway and returns the gateway's id of it.
func (c *client) customer(t *testing.T) string {
	t.Helper()
	c.create(t, payments+"/setup-intent", object{})
	return c.server.only(t, `SELECT external_id FROM payment_customers`)
}

// whose makes the calls to some paths fail.
func whose(fault stripeapi.Fault, paths ...string) stripeapi.Trouble {
	return func(c stripeapi.Call) (stripeapi.Fault, time.Duration) {
		for _, p := range paths {
			if strings.HasPrefix(c.Method+" "+c.Path, p) {
				return fault, 0
			}
		}
		return stripeapi.None, 0
	}
}

// onceChanged makes all calls for subscriptions return garbage from the first change of a path on.
func onceChanged(path string) stripeapi.Trouble {
	garbage, changedFlag := whose(stripeapi.Garbage, "POST /v1/subscriptions", "GET /v1/subscriptions"), atomic.Bool{}
	return func(c stripeapi.Call) (stripeapi.Fault, time.Duration) {
		if c.Changes() && strings.HasPrefix(c.Path, path) {
			changedFlag.Store(true)
		}
		if !changedFlag.Load() {
			return stripeapi.None, 0
		}
		return garbage(c)
	}
}

func TestAGatewayThatMakesNoSense(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		api, stripe := newStripe(t)
		s := start(t, engine, stripe)
		ann := s.user(t, "owner")
		customer := ann.customer(t)
		first, broken := api.AddCard(customer, "4242"), api.AddCard(customer, "0341")
		value := api.AddCard(customer, "4444")
		api.Expire(value)
		order := object{"plan_id": "basic", "payment_method_id": first}
		t.Run("an expired card buys nothing, and there is no sandbox", func(t *testing.T) {
			ann.do(t, "POST", payments+"/subscriptions", object{"plan_id": "basic", "payment_method_id": value}).
				problem(t, 422, "payment_method_expired")
			ann.do(t, "POST", authenticate("seti_1"), object{"client_secret": "s", "success": true}).
				problem(t, 404, "gateway_not_found")
		})
		t.Run("a setup intent", func(t *testing.T) {
			api.Provoke(whose(stripeapi.Garbage, "POST /v1/setup_intents"))
			ann.do(t, "POST", payments+"/setup-intent", object{}).problem(t, 502, "gateway_error")
		})
		t.Run("a subscription, created once in the end", func(t *testing.T) {
			api.Provoke(onceChanged("/v1/subscriptions"))
			ann.do(t, "POST", payments+"/subscriptions", order, "Idempotency-Key: buy").problem(t, 502, "gateway_error")
			ann.do(t, "POST", payments+"/subscriptions", order).problem(t, 409, "payment_pending")
			api.Provoke(nil)
			ann.create(t, payments+"/subscriptions", order, "Idempotency-Key: buy").has(t,
				map[string]string{"subscription.status": "active"})
			if n := len(api.Charges()); n != 1 {
				t.Errorf("%d charges", n)
			}
		})
		t.Run("a change, which is refused while another one is in progress", func(t *testing.T) {
			api.Provoke(onceChanged("/v1/subscriptions/"))
			ann.do(t, "PATCH", mine, object{"quantity": 2}).problem(t, 502, "gateway_error")
			ann.do(t, "PATCH", mine, object{"quantity": 3}).problem(t, 409, "payment_pending")
			ann.do(t, "DELETE", mine, nil).problem(t, 409, "payment_pending")
			api.Provoke(nil)
			s.sql(t, `UPDATE jobs SET due_at = 1 WHERE kind = 'payment.reconcile' AND state = 'queued'`)
			s.await(t, func() bool { return ann.get(t, mine).at("quantity") == "2" })
		})
		t.Run("a change that cannot be charged changes nothing", func(t *testing.T) {
			ann.do(t, "POST", payments+"/methods/"+broken+"/default", nil).is(t, 200)
			ann.do(t, "PATCH", mine, object{"plan_id": "pro"}).problem(t, 402, "card_declined")
			ann.get(t, mine).has(t, map[string]string{"plan_id": "basic", "quantity": "2"})
		})
		t.Run("the default method, and expired cards", func(t *testing.T) {
			ann.do(t, "POST", payments+"/methods/"+value+"/default", nil).problem(t, 422, "payment_method_expired")
			ann.do(t, "DELETE", payments+"/methods/"+broken+"?replacement_id="+value, nil).problem(t, 422,
				"payment_method_expired")
			api.Provoke(whose(stripeapi.Garbage, "POST /v1/customers", "GET /v1/customers"))
			ann.do(t, "POST", payments+"/methods/"+first+"/default", nil).problem(t, 502, "gateway_error")
		})
		t.Run("a method in removal is not shown, and is removed in the end", func(t *testing.T) {
			api.Provoke(whose(stripeapi.Garbage, "POST /v1/payment_methods", "GET /v1/customers"))
			ann.do(t, "DELETE", payments+"/methods/"+broken, nil).problem(t, 502, "gateway_error")
			api.Provoke(nil)
			s.sql(t, `UPDATE jobs SET due_at = 1 WHERE kind = 'payment.reconcile' AND state = 'queued'`)
			s.await(t, func() bool {
				return s.only(t, `SELECT COUNT(*) FROM payment_methods WHERE id = '`+broken+
					`'`) == "0"
			})
		})
		t.Run("the cancellation", func(t *testing.T) {
			api.Provoke(whose(stripeapi.Garbage, "DELETE /v1/subscriptions", "GET /v1/subscriptions"))
			ann.do(t, "DELETE", mine, nil).problem(t, 502, "gateway_error")
			api.Provoke(nil)
			s.sql(t, `UPDATE jobs SET due_at = 1 WHERE kind = 'payment.reconcile' AND state = 'queued'`)
			s.await(t, func() bool { return ann.do(t, "GET", mine, nil).status == 404 })
			if live := api.Live(customer); len(live) != 0 {
				t.Errorf("%v live", live)
			}
		})
		t.Run("a subscription that has ended before its response was read", func(t *testing.T) {
			api.Provoke(onceChanged("/v1/subscriptions"))
			ann.do(t, "POST", payments+"/subscriptions", order, "Idempotency-Key: late").
				problem(t, 502, "gateway_error")
			api.Provoke(nil)
			api.CancelAt(api.Live(customer)[0], time.Now().Add(-time.Second))
			ann.do(t, "POST", payments+"/subscriptions", order, "Idempotency-Key: late").
				problem(t, 404, "no_active_subscription")
		})
		if invalid := api.Wrongs(); len(invalid) != 0 {
			t.Error(invalid)
		}
		s.stop(t)
		for place, text := range map[string]string{"the log": s.stderr.String() + s.stdout.String(),
			"the database": s.dump(t)} {
			if strings.Contains(text, standInKey) || strings.Contains(text, "_secret_") ||
				strings.Contains(text, webhookKey) {
				t.Errorf("%s holds a secret: %s", place, text)
			}
		}
	})
}

func TestACustomerThatTheGatewayDeleted(t *testing.T) {
	t.Parallel()
	api, stripe := newStripe(t)
	s := start(t, sqlite, stripe)
	ann := s.user(t, "owner")
	previous := ann.customer(t)
	api.AddCard(previous, "4242")
	ann.subscribe(t, "basic")
	api.Delete(previous)
	s.sql(t, `UPDATE payment_customers SET wallet_at = 1, subscription_at = 1`)
	ann.get(t, payments+"/methods").has(t, map[string]string{"data": "[]", "stale": "false"})
	ann.do(t, "GET", mine, nil).problem(t, 404, "no_active_subscription")
	if current := ann.customer(t); current == previous || current == "" {
		t.Errorf("customer %q, and %q before", current, previous)
	}
	a := ann.get(t, "/api/events?type=payment_customer.lost").has(t, map[string]string{"data.1": ""})
	if a.at("data.0.subject") == "" {
		t.Error(a)
	}
}

func TestAnOrgThatTakesNoPayments(t *testing.T) {
	t.Parallel()
	ann := start(t, sqlite, configured("orgs: [{slug: default}]")).user(t, "owner", "--operator")
	for _, call := range []string{"GET /methods", "GET /invoices", "POST /methods/pm_1/default", "POST /setup-intent",
		"POST /invoices/in_1/pay", "GET /details", "GET /sandbox/clock", "GET /overview", "GET /subscriptions"} {
		method, path, _ := strings.Cut(call, " ")
		ann.do(t, method, payments+path, nil).problem(t, 409, "payments_not_configured")
	}
	card := object{"number": cardNumber, "exp_month": 12, "exp_year": 2034}
	for call, body := range map[string]object{
		"POST /credit-packs": {"credit_pack_id": "pack"}, "POST /subscriptions": {"plan_id": "basic"},
		"PATCH /subscriptions/me": {"quantity": 2}, "DELETE /subscriptions/me": nil,
		"POST /subscriptions/me/preview": {"quantity": 2}, "DELETE /methods/pm_1": nil,
		"POST /portal-session": {"return_url": shopOrigin}, "POST /usage": {"feature": "messages", "quantity": 1},
		"POST /usage/consume":                             {"feature": "messages", "quantity": 1},
		"POST /usage/batch":                               {"reports": []object{{"feature": "messages", "quantity": 1}}},
		"POST /checkout-session":                          {"plan_id": "basic", "success_url": shopOrigin, "cancel_url": shopOrigin},
		"POST /sandbox/setup-intents/seti_1/authenticate": {"client_secret": "seti_1_secret_1", "success": true},
		"POST /sandbox/setup-intents/seti_1/confirm":      {"client_secret": "seti_1_secret_1", "card": card},
	} {
		method, path, _ := strings.Cut(call, " ")
		content := any(body)
		if body == nil {
			content = nil
		}
		ann.do(t, method, payments+path, content).problem(t, 409, "payments_not_configured")
	}
	ann.do(t, "PUT", billingDetails, company()).problem(t, 409, "payments_not_configured")
	ann.do(t, "POST", clock, object{"advance_seconds": 1}).problem(t, 409, "payments_not_configured")
	ann.do(t, "POST", adjustmentsPath, ann.gives("credit", object{"amount": 1, "currency": "usd"})).
		problem(t, 409, "payments_not_configured")
}

func TestWhoGuessesASignatureIsSlowedDown(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, sold, set("server.rate_limit.unauthenticated_per_minute", "3"))
	const body = `{"id":"evt_1","object":"event","type":"invoice.paid","created":1,"data":{"object":{"object":"invoice"}}}`
	post := func(key string) *answer {
		return s.anonymous().do(t, "POST", payments+"/webhooks/sandbox/default", body,
			"Stripe-Signature: "+payment.Sign(secret.New(key), []byte(body), time.Now()))
	}
	a := post("whsec_guessed").problem(t, 400, "webhook_signature_invalid")
	for try := 0; try < 100 && a.status == 400; try++ { // on a slow machine the limit may refill meanwhile
		a = post("whsec_guessed")
	}
	a.problem(t, 429, "rate_limited")
	post(webhookKey).is(t, 200) // the gateway itself is not limited
}

// TestAnOrgMovesToAnotherGateway starts a subscription in the sandbox and moves the org to Stripe.
func TestAnOrgMovesToAnotherGateway(t *testing.T) {
	t.Parallel()
	d := deployMigrated(t, sqlite, sold)
	s := d.start(t)
	ann := s.user(t, "owner")
	ann.card(t, cardNumber)
	ann.subscribe(t, "basic")
	workspace := "/api/workspaces/" + ann.workspace
	ann.do(t, "DELETE", workspace, nil).problem(t, 409, "workspace_in_use")
	s.stop(t)
	api, stripe := newStripe(t)
	stripe(d)
	ann = ann.at(d.start(t))
	ann.do(t, "GET", mine, nil).problem(t, 404, "no_active_subscription")
	if out := d.must(t, "doctor", "payments"); !strings.Contains(out,
		"1 lived at the account sandbox when the org left it") {
		t.Error(out)
	}
	t.Run("a subscription at the current gateway prevents the deletion of the workspace", func(t *testing.T) {
		api.AddCard(func() string {
			ann.create(t, payments+"/setup-intent", object{})
			return ann.server.only(t, `SELECT external_id FROM payment_customers WHERE gateway = 'stripe'`)
		}(), "4242")
		ann.subscribe(t, "basic")
		ann.do(t, "DELETE", workspace, nil).problem(t, 409, "workspace_in_use")
		ann.do(t, "DELETE", mine, nil).is(t, 204)
	})
	ann.do(t, "DELETE", workspace, nil).is(t, 204)
}
