package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestALongRefusalIsNotStoredUnderItsIdempotencyKey(t *testing.T) {
	contract, err := openapi.Load()
	require.NoError(t, err)
	a := &API{Contract: contract}
	for n, want := range map[int]bool{1: true, 20: true, 500: false} {
		var errs fault.Fields
		for i := range n {
			errs.Add(fmt.Sprintf("/variables/%d", i), "invalid_format", "Must begin with a letter.")
		}
		answer, isKept := a.outcome(observed(httptest.NewRequest(http.MethodPost, "/api/prompt-templates", nil)),
			fault.ErrInvalid.WithFields(errs...))
		if isKept != want {
			t.Errorf("kept = %v for %d fields in %d bytes", isKept, n, len(answer.Body))
		}
	}
}

func TestAResponseThatAsksToWaitIsNotStoredUnderItsIdempotencyKey(t *testing.T) {
	contract, err := openapi.Load()
	require.NoError(t, err)
	a := &API{Contract: contract}
	for _, kind := range []fault.Kind{fault.NotFound, fault.Conflict, fault.Invalid, fault.PaymentRequired} {
		for wait, want := range map[time.Duration]bool{0: true, time.Second: false} {
			refusal := &fault.Error{Kind: kind, Code: "payment_pending", Detail: "Wait.", RetryAfter: wait}
			r := observed(httptest.NewRequest(http.MethodPost, "/api/payments/subscriptions", nil))
			_, isKept := a.outcome(r, refusal)
			if isKept != want {
				t.Errorf("kept = %v for a refusal of kind %d that asks to wait for %s", isKept, kind, wait)
			}
		}
	}
}
