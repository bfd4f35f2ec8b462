package e2e

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
)

const invoiceList = payments + "/invoices"

func TestRefundsAndDisputesAreMirrored(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold)
		ann := s.user(t, "owner")
		ann.card(t, cardNumber)
		id := ann.subscribe(t, "basic").at("subscription.id")
		ann.do(t, "POST", clock, object{"advance_seconds": 32 * 24 * 3600}).is(t, 200)
		ann.get(t, "/api/events?type=invoice.paid").has(t, map[string]string{
			"data.0.data.reason": "subscription_cycle", "data.0.data.subscription_id": id, "data.0.data.amount": "900",
			"data.1.data.reason": "subscription_create", "data.2": "",
		})
		first := ann.get(t, invoiceList).has(t, map[string]string{"data.0.disputed": "false",
			"data.0.amount_refunded.amount": "0", "data.0.amount_remaining.amount": "0"}).at("data.0.id")
		s.must(t, "payments", "sandbox", "refund", first, "--amount", "100")
		await := func(kind string, want map[string]string) {
			t.Helper()
			s.await(t, func() bool { return ann.get(t, "/api/events?type="+kind).at("data.0.type") != "" })
			ann.get(t, "/api/events?type="+kind).has(t, want)
		}
		await("invoice.refunded", map[string]string{"data.0.data.amount": "100", "data.0.data.amount_refunded": "100",
			"data.0.subject": first})
		s.must(t, "payments", "sandbox", "dispute", first)
		await("dispute.opened", map[string]string{"data.0.data.invoice_id": first, "data.0.data.inquiry": "false",
			"data.0.data.reason": "fraudulent"})
		ann.get(t, invoiceList).has(t, map[string]string{"data.0.disputed": "true", "data.0.status": "paid",
			"data.0.amount_refunded.amount": "100"})
		dispute := ann.get(t, "/api/events?type=dispute.opened").at("data.0.subject")
		s.must(t, "payments", "sandbox", "dispute", dispute, "--close", "won")
		await("dispute.closed", map[string]string{"data.0.data.outcome": "won"})
		ann.get(t, invoiceList).has(t, map[string]string{"data.0.disputed": "false"})
		s.must(t, "payments", "sandbox", "credit", first, "--amount", "50")
		s.await(t, func() bool { return ann.get(t, mine).at("credit.amount") == "50" })
		ann.get(t, mine).has(t, map[string]string{"status": "active", "entitled": "true"}) // by default it stays
	})
}

func TestALostPaymentEndsTheSubscriptionIfTheOrgSaysSo(t *testing.T) {
	s := start(t, sqlite, configured(`orgs:
  - slug: default
    payments: {gateway: sandbox, webhook_secrets: ['env:TEST_WEBHOOK_SECRET'], on_refund: end, on_dispute: end, plans: [
      {id: basic, name: Basic, price: {amount: 900, currency: usd}, interval: month}]}`), knowsWebhookKey)
	for name, lose := range map[string]func(*client, string){
		"a refund":  func(_ *client, invoice string) { s.must(t, "payments", "sandbox", "refund", invoice) },
		"a dispute": func(_ *client, invoice string) { s.must(t, "payments", "sandbox", "dispute", invoice) },
	} {
		t.Run(name, func(t *testing.T) {
			ann := s.user(t, "owner", "--workspace", name[2:])
			ann.card(t, cardNumber)
			ann.subscribe(t, "basic")
			invoice := ann.get(t, invoiceList).at("data.0.id")
			s.must(t, "payments", "sandbox", "dispute", invoice, "--inquiry")
			s.await(t, func() bool { return ann.get(t, "/api/events?type=dispute.opened").at("data.0.type") != "" })
			ann.get(t, mine).has(t, map[string]string{"entitled": "true"}) // a bank only asks
			lose(ann, invoice)
			s.await(t, func() bool { return ann.do(t, "GET", mine, nil).status == 404 })
			ann.get(t, payments+"/entitlements").has(t, map[string]string{"entitled": "false"})
		})
	}
	t.Run("an event about a dispute waits for the gateway", func(t *testing.T) {
		const body = `{"id":"evt_d","object":"event","type":"charge.dispute.created","created":1,` +
			`"data":{"object":{"id":"du_1","object":"dispute","charge":"ch_1"}}}`
		s.must(t, "payments", "sandbox", "provoke", "--call", "charge", "error", "error", "error")
		signed := "Stripe-Signature: " + payment.Sign(secret.New(webhookKey), []byte(body), time.Now())
		s.anonymous().do(t, "POST", payments+"/webhooks/sandbox/default", body, signed).problem(t, 503,
			"gateway_unavailable")
		s.anonymous().do(t, "POST", payments+"/webhooks/sandbox/default", body, signed).is(t, 200)
	})
}
