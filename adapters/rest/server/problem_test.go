package server

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/conformance"
)

// TestOutcome says which failures are kept under an Idempotency-Key: those that repeating the
// request does not change.
func TestOutcome(t *testing.T) {
	h := &API{Contract: conformance.Contract(t)}
	r := observed(httptest.NewRequest("POST", "/api/prompt-templates", nil))
	for kind := fault.Kind(0); kind <= fault.UpstreamTimeout; kind++ {
		want := kind == fault.NotFound || kind == fault.Conflict || kind == fault.Invalid ||
			kind == fault.PaymentRequired
		answer, isKept := h.outcome(r, fmt.Errorf("wrapped: %w", &fault.Error{Kind: kind, Code: "x"}))
		if isKept != want || (isKept && answer.Status != Statuses[kind]) {
			t.Errorf("kind %d: kept %v with %d, want %v", kind, isKept, answer.Status, want)
		}
	}
	for _, err := range []error{errors.New("fire"), context.DeadlineExceeded, ports.ErrUnavailable} {
		if _, isKept := h.outcome(r, err); isKept {
			t.Errorf("%v is kept", err)
		}
	}
}

func TestStatuses(t *testing.T) {
	want := map[fault.Kind]int{
		0: 500, fault.Malformed: 400, fault.Unauthenticated: 401, fault.PaymentRequired: 402, fault.Forbidden: 403,
		fault.NotFound:         404,
		fault.MethodNotAllowed: 405, fault.NotAcceptable: 406, fault.Conflict: 409, fault.PreconditionFailed: 412,
		fault.TooLarge:         413,
		fault.UnsupportedMedia: 415, fault.Misdirected: 421, fault.Invalid: 422, fault.RateLimited: 429,
		fault.Upstream: 502, fault.Unavailable: 503, fault.UpstreamTimeout: 504,
	}
	for kind := fault.Kind(0); kind <= fault.UpstreamTimeout; kind++ {
		if Statuses[kind] != want[kind] || Statuses[kind] == 0 {
			t.Errorf("kind %d is %d, want %d", kind, Statuses[kind], want[kind])
		}
	}
	assert.Equal(t, "kinds have a status", len(Statuses), len(want))
}
