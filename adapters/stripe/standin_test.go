package stripe_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/stripe"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

// TestTheStandInShowsNothingThatStripeDoesNot holds the objects of the stand-in against those of stripe-mock,
// which are made of Stripe's own description: a member that Stripe does not have would be nothing to test with.
func TestTheStandInShowsNothingThatStripeDoesNot(t *testing.T) {
	ctx, api, mock := t.Context(), stripeapi.New(t, canary, plans), services.StripeMock(t)
	g := stripe.New(stripe.Config{SecretKey: secret.New(canary), BaseURL: api.URL})
	c, err := g.CreateCustomer(ctx, "customer", payment.Details{Name: "Acme"})
	require.NoError(t, err)
	require.NoError(t, g.UpdateCustomer(ctx, "describe", c, payment.Details{
		Name: "Acme", Address: payment.Address{Country: "DE"}, TaxIDs: []payment.TaxID{{Type: "gb_vat",
			Value: "GB123456789"}},
	}))
	m := payment.MethodID(api.AddCard(string(c), "3155"))
	require.NoError(t, g.SetDefault(ctx, "default", c, m))
	h, err := g.Subscribe(ctx, "subscribe", c, payment.Order{Plan: plans[1], Quantity: 2})
	if err != nil || h.Action == nil {
		t.Fatal(h, err)
	}
	intent, _, _ := strings.Cut(h.Action.ClientSecret.Reveal(), "_secret_")
	api.Authenticate(h.Action.ClientSecret.Reveal())
	_, err = g.Amend(ctx, "less", c, h.ID, payment.Amendment{Plan: plans[0], Quantity: 1, Resell: true,
		AtRenewal: true})
	require.NoError(t, err)
	const expanded = "?expand[0]=latest_invoice.payments" +
		"&expand[1]=latest_invoice.confirmation_secret&expand[2]=schedule"
	subscription := read(t, api.URL+"/v1/subscriptions/"+string(h.ID)+expanded)
	for name, tt := range map[string]struct {
		shown  any
		theirs string
	}{
		"customer": {read(t, api.URL+"/v1/customers/"+string(c)), "/v1/customers/cus_1"},
		"payment method": {read(t, api.URL+"/v1/customers/"+string(c)+"/payment_methods/"+string(m)),
			"/v1/payment_methods/pm_1"},
		"payment intent": {read(t, api.URL+"/v1/payment_intents/"+intent), "/v1/payment_intents/pi_1"},
		"meter":          {read(t, api.URL+"/v1/billing/meters/mtr_messages"), "/v1/billing/meters/mtr_1"},
		"metered price":  {read(t, api.URL+"/v1/prices/price_messages"), "/v1/prices/price_1"},
		"price":          {read(t, api.URL+"/v1/prices/price_basic"), "/v1/prices/price_1"},
		"subscription":   {subscription, "/v1/subscriptions/sub_1"},
		"invoice": {subscription["latest_invoice"],
			"/v1/invoices/in_1?expand[0]=payments&expand[1]=confirmation_secret"},
		"schedule": {subscription["schedule"], "/v1/subscription_schedules/sub_sched_1"},
		"tax ids":  {read(t, api.URL+"/v1/customers/"+string(c)+"/tax_ids"), "/v1/customers/cus_1/tax_ids"},
		"list":     {read(t, api.URL+"/v1/invoices?customer="+string(c)), "/v1/invoices"},
	} {
		t.Run(name, func(t *testing.T) { compareWithin(t, name, tt.shown, read(t, mock+tt.theirs)) })
	}
}

func read(t *testing.T, url string) map[string]any {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+canary)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	var out map[string]any
	err = json.NewDecoder(resp.Body).Decode(&out)
	require.That(t, err == nil && resp.StatusCode == http.StatusOK, "%s answers %s, %v: %v", url, resp.Status, out, err)
	return out
}

// compareWithin fails t for each member that is shown at a place where theirs has none. What is null there, or only
// named by its identifier, cannot be compared.
func compareWithin(t *testing.T, at string, shown, theirs any) {
	t.Helper()
	switch s := shown.(type) {
	case map[string]any:
		there, is := theirs.(map[string]any)
		if !is || strings.HasSuffix(at, ".metadata") {
			return
		}
		for name, value := range s {
			known, has := there[name]
			// one of two, of which stripe-mock shows the other; and what only some lines have, which stripe-mock leaves
			// out
			isOptional := at+"."+name == "invoice.payments.data.payment.payment_intent" || name == "price_details"
			assert.That(t, has || isOptional, "%s has no %s", at, name)
			compareWithin(t, at+"."+name, value, known)
		}
	case []any:
		if there, is := theirs.([]any); is && len(s) > 0 && len(there) > 0 {
			compareWithin(t, at, s[0], there[0])
		}
	}
}
