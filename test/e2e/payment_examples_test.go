package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
)

// payer returns who pays in the workspace of a caller's request, and the host: the caller if they have the permission,
// otherwise the owner of the workspace.
func (h *testWorkspace) payer(c *testCaller) (*client, []string) {
	if c.known && c.own >= identity.Admin {
		return c.client, []string{c.host, c.chooses()}
	}
	return h.owner, []string{onRed}
}

// sells is an example on a payment method or a subscription of the caller's own workspace.
func sells(in func(t *testing.T, who *client, headers []string) target) example {
	return example{make: func(t *testing.T, h *testWorkspace, c *testCaller) target {
		who, headers := h.payer(c)
		return in(t, who, headers)
	}}
}

// inHousePaid is an example on a payment method, or an intent, of the workspace.
func inHousePaid(in func(t *testing.T, who *client, headers []string) target) example {
	return example{make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		return in(t, h.owner,
			[]string{onRed})
	}}
}

// ensureSubscribed starts a subscription if there is none.
func ensureSubscribed(t *testing.T, who *client, headers []string) {
	t.Helper()
	if who.do(t, "GET", mine, nil, headers...).status == 404 {
		method := who.card(t, cardNumber, headers...)
		who.create(t, payments+"/subscriptions", object{"plan_id": "basic", "payment_method_id": method}, headers...)
	}
}

// ensureNotSubscribed ends the subscription, if any.
func ensureNotSubscribed(t *testing.T, who *client, headers []string) {
	t.Helper()
	who.do(t, "DELETE", mine, nil, headers...)
}

var paymentExamples = map[string]example{
	"listPlans":             plainly(nil),
	"createSetupIntent":     plainly(object{}),
	"listPaymentMethods":    plainly(nil),
	"listInvoices":          plainly(nil),
	"getBillingDetails":     plainly(nil),
	"replaceBillingDetails": plainly(object{"name": "Acme GmbH"}),
	"getEntitlements":       plainly(nil),
	"reportUsage":           plainly(object{"feature": "messages", "quantity": 1}),
	"deletePaymentMethod": inHousePaid(func(t *testing.T, who *client, headers []string) target {
		ensureNotSubscribed(t, who, headers)
		return target{ids: []string{who.card(t, cardNumber, headers...)}}
	}),
	"setDefaultPaymentMethod": inHousePaid(func(t *testing.T, who *client, headers []string) target {
		return target{ids: []string{who.card(t, cardNumber, headers...)}}
	}),
	"payInvoice": inHousePaid(func(t *testing.T, who *client, headers []string) target {
		ensureSubscribed(t, who, headers)
		return target{ids: []string{who.get(t, payments+"/invoices?status=paid", headers...).at("data.0.id")}}
	}),
	"buyCreditPacks": sells(func(t *testing.T, who *client, headers []string) target {
		who.card(t, cardNumber, headers...)
		return target{body: object{"credit_pack_id": "pack"}}
	}),
	"createSubscription": sells(func(t *testing.T, who *client, headers []string) target {
		ensureNotSubscribed(t, who, headers)
		return target{body: object{"plan_id": "basic", "payment_method_id": who.card(t, cardNumber, headers...)}}
	}),
	"getSubscription": sells(func(t *testing.T, who *client, headers []string) target {
		ensureSubscribed(t, who, headers)
		return target{}
	}),
	"updateSubscription": sells(func(t *testing.T, who *client, headers []string) target {
		ensureSubscribed(t, who, headers)
		return target{body: object{"quantity": 2}}
	}),
	"previewSubscriptionChange": sells(func(t *testing.T, who *client, headers []string) target {
		ensureSubscribed(t, who, headers)
		return target{body: object{"quantity": 3}}
	}),
	"getPaymentOverview": plainly(nil),
	"listSubscriptions":  plainly(nil),
	"createPaymentAdjustment": {make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{body: object{
			"workspace_id": h.owner.workspace, "kind": "credit", "amount": 100, "currency": "usd",
			"reason": "A test",
		}}
	}},
	"createPortalSession": plainly(object{"return_url": "http://localhost:3000/billing"}),
	"createCheckoutSession": sells(func(t *testing.T, who *client, headers []string) target {
		ensureNotSubscribed(t, who, headers)
		const back = "http://localhost:3000/plans"
		return target{body: object{"plan_id": "basic", "success_url": back, "cancel_url": back}}
	}),
	"cancelSubscription": sells(func(t *testing.T, who *client, headers []string) target {
		ensureSubscribed(t, who, headers)
		return target{}
	}),
	"getSandboxClock":     plainly(nil),
	"advanceSandboxClock": plainly(object{"advance_seconds": 1}),
	"confirmSandboxIntent": inHousePaid(func(t *testing.T, who *client, headers []string) target {
		id, clientSecret := who.intent(t, headers...)
		return target{ids: []string{id}, body: object{"client_secret": clientSecret, "card": testCard(cardNumber)}}
	}),
	"authenticateSandboxIntent": inHousePaid(func(t *testing.T, who *client, headers []string) target {
		id, clientSecret := who.intent(t, headers...)
		who.do(t, "POST", confirm(id), object{"client_secret": clientSecret, "card": testCard("4000002500003155")},
			headers...).is(t, 200)
		return target{ids: []string{id}, body: object{"client_secret": clientSecret, "success": true}}
	}),
	"receivePaymentEvent": {make: func(*testing.T, *testWorkspace, *testCaller) target {
		const body = `{"id":"evt_1","object":"event","type":"invoice.paid","created":1,"data":{"object":{"object":"invoice"}}}`
		return target{ids: []string{"sandbox", "red"}, body: body,
			headers: []string{"Stripe-Signature: " + payment.Sign(secret.New(webhookKey), []byte(body), time.Now())}}
	}},
}

func init() {
	for name, e := range paymentExamples {
		examples[name] = e
	}
}

// onlyPayments are the settings of an org that sells in the sandbox, in one line of YAML.
func onlyPayments() string {
	return strings.Join(strings.Fields(soldSettings), " ")
}
