package conformance_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/require"
)

// witness is a testing.TB that records failures.
type witness struct {
	testing.TB
	told []string
}

func (w *witness) Helper()                      {}
func (w *witness) Errorf(f string, args ...any) { w.told = append(w.told, fmt.Sprintf(f, args...)) }

const (
	workspaceBody = `{"id":"wsp_1","slug":"s","name":"S","my_role":"admin","revision":1,"created_at":"2026-03-02T09:30:00.000Z","updated_at":"2026-03-02T09:30:00.000Z"}`
	missingBody   = `{"type":"/problems/workspace_not_found","title":"Workspace not found","status":404,"detail":"There is no such workspace.","code":"workspace_not_found","request_id":"r1"}`
	noPathBody    = `{"type":"/problems/not_found","title":"Not found","status":404,"detail":"Nothing here.","code":"not_found","request_id":"r1"}`
)

// An independent reader accepts the contract. It would compile a schema for each example, so they are checked apart.
func TestTheContractIsValidOpenAPI(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(conformance.Contract(t).JSON())
	if err == nil {
		err = doc.Validate(t.Context(), openapi3.DisableExamplesValidation(),
			openapi3.DisableSchemaDefaultsValidation())
	}
	assert.NoError(t, err)
	broken, err := conformance.BrokenExamples(conformance.Contract(t).JSON())
	assert.NoError(t, err)
	for _, example := range broken {
		t.Error(example)
	}
}

func TestValidatingTransport(t *testing.T) {
	const get, one = "GET /api/workspaces/wsp_1", "GET /api/workspaces/{workspace_id} answered "
	problem := func(body string, replacements ...string) string {
		return strings.NewReplacer(replacements...).Replace(body)
	}
	tests := map[string]struct {
		request string
		status  int
		headers string
		body    string
		want    string // part of the one violation; none if empty
	}{
		"a right answer passes":               {get, 200, "Etag: 1", workspaceBody, ""},
		"a right problem passes":              {get, 404, "", missingBody, ""},
		"304 without a body passes":           {get, 304, "Etag: 1", "", ""},
		"an unknown path passes as a problem": {"GET /api/nothing", 404, "", noPathBody, ""},
		"a static path wins over a parameter": {"POST /api/prompt-templates/resolve", 200, "Workspace-Id: w",
			`{"data":[]}`, ""},
		"an undocumented status": {get, 418, "", workspaceBody,
			one + "418: the status is not documented"},
		"a member of another type": {get, 200, "Etag: 1",
			problem(workspaceBody, `"revision":1`, `"revision":"1"`), one + "200: the body breaks its schema"},
		"a pointer to what is wrong": {get, 200, "Etag: 1",
			problem(workspaceBody, `"my_role":"admin"`, `"my_role":"king"`), "'/my_role'"},
		"a missing member": {get, 200, "Etag: 1", problem(workspaceBody, `"slug":"s",`, ``),
			"slug"},
		"a time with microseconds": {get, 200, "Etag: 1",
			problem(workspaceBody, `00.000Z`, `00.000001Z`), "milliseconds"},
		"a missing header":                            {get, 200, "", workspaceBody, "the header ETag is missing"},
		"a missing header of a 304":                   {get, 304, "", "", "the header ETag is missing"},
		"a header of the wrong form":                  {get, 429, "Retry-After: soon\nRateLimit: x\nRateLimit-Policy: y", problem(missingBody, "workspace_not_found", "rate_limited", "Workspace not found", "Too many requests", "404", "429"), "the header Retry-After is not a whole number"},
		"a header that its schema refuses":            {get, 429, "Retry-After: -1\nRateLimit: x\nRateLimit-Policy: y", problem(missingBody, "workspace_not_found", "rate_limited", "Workspace not found", "Too many requests", "404", "429"), "the header Retry-After breaks its schema"},
		"a body of 304":                               {get, 304, "Etag: 1", "x", "the body must be empty"},
		"another content type":                        {get, 200, "Etag: 1\nContent-Type: text/html", workspaceBody, `the content type "text/html"`},
		"a problem as plain JSON":                     {get, 404, "Content-Type: application/json", missingBody, `the content type "application/json"`},
		"no JSON":                                     {get, 200, "Etag: 1", "hello", "the body is not JSON"},
		"a code of another operation":                 {get, 404, "", problem(missingBody, "workspace_not_found", "share_not_found", "Workspace not found", "Share not found"), "/code: share_not_found is not among"},
		"a code that is in no register":               {"GET /api/nothing", 404, "", problem(noPathBody, "not_found", "gone_fishing"), "/code: gone_fishing is not"},
		"a code under another status":                 {"GET /api/nothing", 404, "", problem(noPathBody, "not_found", "internal", "Not found", "Internal error"), `500`},
		"a problem under another status than its own": {"GET /api/nothing", 404, "", problem(noPathBody, "not_found", "internal", "Not found", "Internal error", "404", "500"), "the status of internal is 500"},
		"another title": {get, 404, "",
			problem(missingBody, "Workspace not found", "Oops"), `/title: "Oops"`},
		"another request id": {get, 404, "", problem(missingBody, "r1", "r2"),
			`/request_id: "r2", want "r1"`},
		"an unregistered field code": {"POST /api/prompt-templates", 422, "",
			problem(missingBody, "workspace_not_found", "invalid_fields", "Workspace not found", "Invalid fields",
				"404", "422", `"r1"`, `"r1","errors":[{"pointer":"/name","code":"silly","detail":"x"}]`),
			"/errors/0/code: silly is not in x-field-codes"},
		"an answer where there is no path": {"GET /api/nothing", 200, "", workspaceBody,
			"no operation takes this request"},
		"an answer for a method there is not": {"DELETE /api/me", 200, "", workspaceBody,
			"no operation takes this request"},
		"a 405 that does not say what is there": {"DELETE /api/me", 405, "",
			problem(noPathBody, "not_found", "method_not_allowed", "Not found", "Method not allowed", "404", "405"),
			"the header Allow is missing"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Request-Id", "r1")
				w.Header().Set("Content-Type", "application/json")
				if tt.status >= 400 {
					w.Header().Set("Content-Type", "application/problem+json")
				}
				for line := range strings.Lines(tt.headers) {
					name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
					w.Header().Set(name, value)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}))
			defer server.Close()
			saw := &witness{TB: t}
			method, path, _ := strings.Cut(tt.request, " ")
			if tt.status == http.StatusNotModified && tt.body != "" {
				// net/http sends no such body, so that the check is asked itself.
				req := httptest.NewRequest(method, path, nil)
				conformance.CheckResponse(saw, req,
					&http.Response{StatusCode: tt.status, Header: http.Header{"Etag": {"1"}, "Request-Id": {"r1"}},
						Body: io.NopCloser(strings.NewReader(tt.body))})
			} else {
				req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
				require.NoError(t, err)
				resp, err := (&http.Client{Transport: conformance.ValidatingTransport(saw)}).Do(req)
				require.NoError(t, err)
				body, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || (tt.status != http.StatusNotModified && string(body) != tt.body) {
					t.Errorf("the body came through as %q, %v", body, err)
				}
			}
			switch all := strings.Join(saw.told, "\n"); {
			case tt.want == "" && all != "":
				t.Errorf("a right answer was refused:\n%s", all)
			case tt.want != "" && !strings.Contains(all, tt.want):
				t.Errorf("told %q, want %q in it", all, tt.want)
			}
		})
	}
}

// A problem that was right once is not remembered as right where it would be wrong.
func TestARepeatedProblemIsStillChecked(t *testing.T) {
	const share = "/api/prompt-templates/ptpl_1/shares/usr_1"
	missing := strings.NewReplacer("workspace_not_found", "share_not_found", "Workspace not found", "Share not found").
		Replace(missingBody)
	check := func(path string, status int, id, body string) []string {
		violations, err := conformance.Violations(httptest.NewRequest("GET", path, nil), &http.Response{
			StatusCode: status,
			Header:     http.Header{"Content-Type": {"application/problem+json"}, "Request-Id": {id}},
		}, []byte(body))
		require.NoError(t, err)
		return violations
	}
	for range 2 {
		if invalid := check(share, 404, "r1", missing); invalid != nil {
			t.Fatal(invalid)
		}
	}
	for name, invalid := range map[string][]string{
		"under another operation": check("/api/workspaces/wsp_1", 404, "r1", missing),
		"under another status":    check(share, 403, "r1", missing),
		"with another request id": check(share, 404, "r2", missing),
		"with another title":      check(share, 404, "r1", strings.Replace(missing, "Share", "No share", 1)),
		"with an id that brings another code": check(share, 404, `r1","code":"x`,
			strings.Replace(missing, "r1", `r1","code":"x`, 1)),
	} {
		if len(invalid) == 0 {
			t.Errorf("%s, it passed", name)
		}
	}
}
