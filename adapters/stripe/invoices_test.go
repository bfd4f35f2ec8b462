package stripe_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Stripe's lists have at most 100 entries a page, and has_more (https://docs.stripe.com/api/pagination).
func TestTheMirroredInvoicesOfACustomerWithManyTakeOneCall(t *testing.T) {
	s := serve(t, func(_ string, w http.ResponseWriter, _ *http.Request) {
		page := make([]string, payment.MirroredInvoices)
		for i := range page {
			page[i] = fmt.Sprintf(`{"id":"in_%d","object":"invoice","status":"paid"}`, i)
		}
		reply(w, 200, `{"object":"list","url":"/v1/invoices","has_more":true,"data":[`+strings.Join(page, ",")+`]}`)
	})
	got, err := s.gateway().Invoices(t.Context(), "cus_1", "")
	require.That(t, err == nil && len(got) == payment.MirroredInvoices, "%d invoices, %v", len(got), err)
	calls := s.received()
	assert.Equal(t, "calls of Stripe", len(calls), 1)
}
