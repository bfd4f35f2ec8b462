package rest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/fault"
)

func TestALongRefusalIsNotStoredUnderItsIdempotencyKey(t *testing.T) {
	contract, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	a := &API{contract: contract}
	for n, want := range map[int]bool{1: true, 20: true, 500: false} {
		var wrong fault.Fields
		for i := range n {
			wrong.Add(fmt.Sprintf("/variables/%d", i), "invalid_format", "Must begin with a letter.")
		}
		answer, kept := a.outcome(httptest.NewRequest(http.MethodPost, "/api/prompt-templates", nil),
			fault.ErrInvalid.WithFields(wrong...))
		if kept != want {
			t.Errorf("kept = %v for %d fields in %d bytes", kept, n, len(answer.Body))
		}
	}
}
