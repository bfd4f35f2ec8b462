package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/require"
)

// newAPI returns the API of a contract.
func newAPI(contract *openapi.Contract) *API {
	return New(contract, Config{}, Deps{Metrics: prometheus.NewRegistry()})
}

func TestRoutesAndContract(t *testing.T) {
	list := func(*Call) (Reply, error) { return NoContent, nil }
	create := func(*Call) (Command, error) { return Respond(NoContent), nil }
	webhooks := Area{Operations: []Operation{Get("/api/webhooks", Query(list)), Post("/api/webhooks", Command(list))}}
	t.Run("a route that the contract does not have is an error", func(t *testing.T) {
		err := newAPI(conformance.Contract(t)).Register(webhooks,
			Area{Operations: []Operation{Get("/api/secret", Query(list))}})
		if err == nil || !strings.Contains(err.Error(), "GET /api/secret is not in openapi.yaml") {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("a route of another kind than its operation is an error", func(t *testing.T) {
		for want, op := range map[string]Operation{
			"createAPIKey is a query":             Post("/api/api-keys", Query(list)),
			"listAPIKeys is outbound in one":      Get("/api/api-keys", Outbound(create)),
			"verifyConnection is a stream in one": Post("/api/connections/{connection_id}/verify", Outbound(create)),
			"getMe is a stream in one":            Get("/api/me", Streaming{}),
			"exportMe is a stream in one":         Get("/api/me/export", Query(list)),
			"getMe needs no credential in one":    Get("/api/me", Anonymous{Run: list}),
			"openSession needs no credential":     Post("/api/auth/sessions", Command(list)),
			"copyChatTemplate is outbound in":     Post("/api/chat-templates/{template_id}/copy", Outbound(create)),
		} {
			err := newAPI(conformance.Contract(t)).Register(Area{Operations: []Operation{op}})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error = %v, want %q", err, want)
			}
		}
	})
	t.Run("a page is neither a stream nor for callers with a credential", func(t *testing.T) {
		for _, page := range []Route{
			NewRoute(http.MethodPost, "/api/embed/messages", http.NotFoundHandler()),
			NewRoute(http.MethodGet, "/api/me", http.NotFoundHandler()),
		} {
			err := newAPI(conformance.Contract(t)).Register(Area{Public: []Route{page}})
			if err == nil || !strings.Contains(err.Error(), "so it has to be an Operation") {
				t.Errorf("error = %v", err)
			}
		}
	})
	t.Run("an operation that has no route is an error, unless its area is left out", func(t *testing.T) {
		api := newAPI(conformance.Contract(t))
		require.NoError(t, api.Register(webhooks))
		all := Area{}
		for _, declaration := range api.Contract.Operations() {
			all.Operations = append(all.Operations, Operation{declaration.Method, declaration.Path, Query(list)})
		}
		if err := api.CheckComplete(); err == nil || !strings.Contains(err.Error(), "of openapi.yaml has no route") {
			t.Errorf("error = %v", err)
		}
		assert.NoError(t, api.CheckComplete(all))
	})
	t.Run("an empty contract has none of the routes", func(t *testing.T) {
		if err := newAPI(new(openapi.Contract)).Register(webhooks); err == nil {
			t.Error("no error")
		}
	})
}
