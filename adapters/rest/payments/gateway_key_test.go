package payments

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestGatewayKey(t *testing.T) {
	contract, err := openapi.Load()
	require.NoError(t, err)
	user, key, workspace := id.New("usr"), id.New("key"), id.New("wsp")
	textWith := func(method, template, path, idempotency, body string) string {
		t.Helper()
		op, exists := contract.Operation(method, template)
		require.That(t, exists, "no operation %s %s", method, template)
		r := httptest.NewRequest(method, path, nil)
		if idempotency != "" {
			r.Header.Set("Idempotency-Key", idempotency)
		}
		return gatewayKey((&server.Call{Request: r, Payload: []byte(body), API: &server.API{
			Deps: server.Deps{Digester: fixture.Digester{}},
		},
			Operation: op, By: identity.Actor{
				User: identity.UserID(user), Key: identity.KeyID(key), Workspace: identity.WorkspaceID(workspace),
				Ceiling: identity.Owner,
			}}))
	}
	textOf := func(method, template, path, idempotency string) string {
		t.Helper()
		return textWith(method, template, path, idempotency, "")
	}
	const pay = paymentPaths + "/invoices/{invoice_id}/pay"
	paying := func(idempotency string) string {
		return textOf(http.MethodPost, pay, paymentPaths+"/invoices/in_1MtHbELkdIwHu7ixl4OzzPMv/pay", idempotency)
	}
	longest := strings.Repeat("k", 255)

	t.Run("a gateway accepts it, whatever the Idempotency-Key", func(t *testing.T) {
		const most = 255 - len("_cus_NffrFeUfNV2Hib_schedule_keep") // calls have suffixes
		for _, k := range []string{"", "k", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", longest} {
			got := paying(k)
			assert.That(t, len(got) <= most, "%d bytes for an Idempotency-Key of %d", len(got), len(k))
		}
	})
	t.Run("it is the same for each attempt, and for nothing else", func(t *testing.T) {
		assert.That(t, paying("one") == paying("one"), "another one for the second attempt")
		other := textOf(http.MethodPost, subscriptionPath, subscriptionPath, "one")
		k := paying("one")
		assert.That(t, k != paying("two") && k != other && paying("") != paying(""), "the same for another request")
	})
	t.Run("another body under the same Idempotency-Key is another request", func(t *testing.T) {
		for _, method := range []string{http.MethodPatch, http.MethodDelete} {
			key := func(body string) string { return textWith(method, mySubscription, mySubscription, "one", body) }
			if key("{}") != key("{}") || key("{}") == key(`{"quantity":2}`) {
				t.Errorf("%s: %s, %s, %s", method, key("{}"), key("{}"), key(`{"quantity":2}`))
			}
		}
	})
}
