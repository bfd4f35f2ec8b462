package rest

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestAnAreaThatIsLeftOutLeavesNothingBehind composes all areas but one.
func TestAnAreaThatIsLeftOutLeavesNothingBehind(t *testing.T) {
	variable := regexp.MustCompile(`\{[a-z_]+\}`)
	for name, tt := range map[string]struct {
		operations int // of openapi.yaml, at least
		pages      []string
	}{
		"embeds":   {10, []string{"/embed/emb_x", "/embed.js", "/api/embed/anything"}},
		"webhooks": {10, nil},
		"rows":     {2, nil},
		"scim":     {0, []string{"/scim/v2/Users"}},
	} {
		t.Run(name, func(t *testing.T) {
			contract := conformance.Contract(t)
			directory := identity.NewDirectory(
				[]identity.Org{{ID: "org_1", Slug: "default", SCIM: &identity.SCIM{}}}, "",
			)
			d := Deps{Deps: server.Deps{
				Orgs:     func() *identity.Directory { return directory },
				Digester: fixture.Digester{}, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
			}}
			api := server.New(contract, server.Config{
				RequestTimeout: time.Minute, RateLimit: server.RateLimit{DownloadsPerMinute: 1000},
			}, d.Deps)
			composedAreas := areas(api, d)
			i := slices.IndexFunc(composedAreas, func(a server.Area) bool { return a.Name == name })
			if i < 0 {
				t.Fatal("there is no such area")
			}
			excludedArea := composedAreas[i]
			require.NoError(t, api.Register(slices.Delete(composedAreas, i, i+1)...))
			if err := api.CheckComplete(); (err == nil) != (tt.operations == 0) {
				t.Errorf("the contract misses nothing: %v", err)
			}
			if err := api.CheckComplete(excludedArea); err != nil {
				t.Errorf("without the operations of the area: %v", err)
			}
			refuses := func(method, path string) {
				w := httptest.NewRecorder()
				api.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
				if w.Code != http.StatusNotFound {
					t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
				}
			}
			operations := 0
			for _, declaredOperation := range contract.Operations() {
				if api.Serves(declaredOperation.Method, declaredOperation.Path) {
					continue
				}
				operations++
				if !servesAnyMethod(api, contract, declaredOperation.Path) {
					refuses(declaredOperation.Method, variable.ReplaceAllString(declaredOperation.Path, "x"))
				}
			}
			if operations < tt.operations || (tt.operations == 0 && operations > 0) {
				t.Errorf("%d operations are left out", operations)
			}
			for _, path := range tt.pages {
				refuses(http.MethodGet, path)
			}
			if name == "rows" || proof.Running() {
				checkDocument(t, api)
			}
		})
	}
}

// checkDocument fails t unless the document that api serves has the operations that it serves, and no others.
func checkDocument(t *testing.T, api *server.API) {
	t.Helper()
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/openapi.json", nil))
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil {
		t.Fatalf("%d: %v", w.Code, err)
	}
	for _, declaredOperation := range api.Contract.Operations() {
		_, isListed := document.Paths[declaredOperation.Path][strings.ToLower(declaredOperation.Method)]
		if isListed != api.Serves(declaredOperation.Method, declaredOperation.Path) {
			t.Errorf("%s is listed: %t", declaredOperation.ID, isListed)
		}
	}
	for path, item := range document.Paths {
		_, hasParameters := item["parameters"]
		if len(item) == 0 || (len(item) == 1 && hasParameters) {
			t.Errorf("%s has no operation", path)
		}
	}
}

// servesAnyMethod reports whether another area serves a path with another method: then it returns 405.
func servesAnyMethod(api *server.API, contract *openapi.Contract, path string) bool {
	return slices.ContainsFunc(contract.Operations(), func(o *openapi.Operation) bool {
		return strings.TrimSuffix(o.Path, "/") == path && api.Serves(o.Method, o.Path)
	})
}
