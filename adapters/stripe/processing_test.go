package stripe_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/stripe"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// answers returns a response for each call, by its method and path.
type answers map[string]struct {
	status int
	body   string
}

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	next, exists := a[r.Method+" "+r.URL.Path]
	if !exists {
		next.status, next.body = http.StatusNotFound, `{"error": {"type": "invalid_request_error"}}`
	}
	return &http.Response{StatusCode: next.status, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(next.body))}, nil
}

// TestADirectDebitThatIsOnItsWayAsksNothing has the states of
// https://docs.stripe.com/payments/paymentintents/lifecycle and of invoices whose payment is processing.
func TestADirectDebitThatIsOnItsWayAsksNothing(t *testing.T) {
	invoice := func(status string) string {
		return `{"id": "in_1", "object": "invoice", "customer": "cus_1", "status": "` + status + `",
			"confirmation_secret": {"client_secret": "pi_1_secret", "type": "payment_intent"},
			"payments": {"object": "list", "data": [{"id": "inpay_1", "object": "invoice_payment",
				"payment": {"type": "payment_intent", "payment_intent": "pi_1"}}]}}`
	}
	const refused = `{"error": {"type": "invalid_request_error", "code": "payment_intent_unexpected_state"}}`
	for name, tt := range map[string]struct {
		state, intent, body string
		code                int
		asks                bool
	}{
		"while it is processed":                   {"open", "processing", invoice("open"), 200, false},
		"or paid again in the meantime":           {"open", "processing", refused, 400, false},
		"a card that wants the payer does":        {"open", "requires_action", invoice("open"), 200, true},
		"an invoice that was written off is paid": {"uncollectible", "succeeded", invoice("paid"), 200, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := stripe.New(stripe.Config{SecretKey: secret.New("sk_test_1"), Transport: answers{
				"GET /v1/invoices/in_1":        {200, invoice(tt.state)},
				"POST /v1/invoices/in_1/pay":   {tt.code, tt.body},
				"GET /v1/payment_intents/pi_1": {200, `{"id": "pi_1", "object": "payment_intent", "status": "` + tt.intent + `"}`},
			}})
			p, err := g.Pay(t.Context(), "k", "cus_1", payment.InvoiceID("in_1"))
			require.NoError(t, err)
			assert.That(t, (p.Action != nil) == tt.asks && p.Invoice.ID == "in_1", "%+v", p)
		})
	}
}
