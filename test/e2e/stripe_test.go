package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/services"
)

func TestPaymentsThroughStripe(t *testing.T) {
	mock := services.StripeMock(t)
	const key = "sk_test_c4n4ry0fstripe"
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, configured(fmt.Sprintf(`
orgs:
  - slug: default
    payments:
      gateway: stripe
      webhook_secrets: ['env:TEST_WEBHOOK_SECRET']
      stripe: {secret_key: 'env:TEST_STRIPE_KEY', publishable_key: pk_test_1, base_url: %q}
      plans: [{id: basic, name: Basic, price: {amount: 900, currency: usd}, interval: month, gateway_price: price_1}]
`, mock)), knowsWebhookKey, func(d *deployment) { d.env = append(d.env, "TEST_STRIPE_KEY="+key) })
		ann := s.user(t, "owner")
		t.Run("a plan whose amount differs at Stripe cannot be bought", func(t *testing.T) {
			ann.get(t, payments+"/plans").has(t, map[string]string{"data.0.id": "basic", "data.0.available": "false"})
			ann.do(t, "POST", payments+"/subscriptions", object{"plan_id": "basic"}).problem(t, 422, "plan_unavailable")
		})
		t.Run("a setup intent is Stripe's", func(t *testing.T) {
			a := ann.create(t, payments+"/setup-intent", object{}).has(t,
				map[string]string{"gateway": "stripe", "publishable_key": "pk_test_1"})
			if !strings.HasPrefix(a.at("id"), "seti_") || a.at("client_secret") == "" {
				t.Error(a)
			}
			ann.get(t, payments+"/methods").has(t, map[string]string{"gateway": "stripe", "stale": "false"})
			ann.get(t, payments+"/invoices").has(t, map[string]string{"gateway": "stripe"})
			ann.do(t, "POST", confirm(a.at("id")),
				object{"client_secret": a.at("client_secret"), "card": testCard(cardNumber)}).problem(t, 404,
				"gateway_not_found")
			ann.do(t, "GET", clock, nil).problem(t, 404, "gateway_not_found")
			ann.do(t, "POST", clock, object{"advance_seconds": 1}).problem(t, 404, "gateway_not_found")
		})
		t.Run("Stripe's events are accepted, and the sandbox's are refused", func(t *testing.T) {
			const body = `{"id":"evt_1","object":"event","type":"invoice.paid","created":1,"data":{"object":{"object":"invoice"}}}`
			signature := "Stripe-Signature: " + payment.Sign(secret.New(webhookKey), []byte(body), time.Now())
			s.anonymous().do(t, "POST", payments+"/webhooks/stripe/default", body, signature).is(t, 200)
			s.anonymous().do(t, "POST", payments+"/webhooks/sandbox/default", body, signature).problem(t, 404,
				"gateway_not_found")
		})
		s.stop(t)
		for place, text := range map[string]string{"the log": s.stderr.String() + s.stdout.String(),
			"the database": s.dump(t)} {
			if strings.Contains(text, key) || strings.Contains(text, "_secret_") || strings.Contains(text, webhookKey) {
				t.Errorf("%s holds a secret: %s", place, text)
			}
		}
	})
}
