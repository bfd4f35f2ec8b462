package rest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// anyPath returns what the contract says every path can return: the kind of the body by status.
func anyPath(t *testing.T, c *openapi.Contract) map[string]string {
	t.Helper()
	var doc struct {
		AnyPath map[string]struct{ Body string } `json:"x-any-path"`
	}
	if err := json.Unmarshal(c.JSON(), &doc); err != nil || len(doc.AnyPath) == 0 {
		t.Fatalf("x-any-path: %v, %v", doc.AnyPath, err)
	}
	bodies := map[string]string{}
	for status, one := range doc.AnyPath {
		bodies[status] = one.Body
	}
	return bodies
}

// TestInputThatIsNotHTTPGetsADocumentedStatus sends bytes to the server as it is configured.
func TestInputThatIsNotHTTPGetsADocumentedStatus(t *testing.T) {
	h := newEnv(t)
	documented := anyPath(t, h.Contract)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := server.Config{ReadHeaderTimeout: time.Minute, ReadTimeout: time.Minute, WriteTimeout: time.Minute,
		IdleTimeout: time.Minute}
	server := server.HTTPServer(c, h, slog.New(slog.DiscardHandler))
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	seen := map[string]bool{"421": true, "500": true} // TestHosts in test/e2e and TestPanic
	for name, tt := range map[string]struct{ text, want string }{
		"no HTTP":             {"hello\r\n\r\n", "400"},
		"no host":             {"GET / HTTP/1.1\r\n\r\n", "400"},
		"a host with a space": {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "400"},
		"a malformed header":  {"GET / HTTP/1.1\r\nHost: a\r\nx y: z\r\n\r\n", "400"},
		"a malformed path":    {"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
		"another expectation": {
			"POST /api/me HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 0\r\n\r\n", "417",
		},
		"a long header": {
			"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 40<<10) + "\r\n\r\n", "431",
		},
		"a long URL":                 {"GET /" + strings.Repeat("x", 40<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", "431"},
		"another transfer encoding":  {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", "501"},
		"another version of HTTP":    {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", "505"},
		"a path that does not exist": {"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", "404"},
		"an encoded slash":           {"GET /embed/..%2f.. HTTP/1.1\r\nHost: a\r\n\r\n", "404"},
		"another method":             {"PURGE /api/me HTTP/1.1\r\nHost: a\r\n\r\n", "405"},
		"the form for proxies":       {"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", "404"},
		"the form for servers":       {"OPTIONS * HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "200"},
	} {
		t.Run(name, func(t *testing.T) {
			status, media := rawExchange(t, l.Addr().String(), tt.text)
			assert.Equal(t, "status", status, tt.want)
			seen[status] = true
			wantMedia := map[string]string{
				"text": "text/plain", "problem": "application/problem+json",
			}[documented[status]]
			if (documented[status] == "" && status != "200") || wantMedia != media {
				t.Errorf("status %s with %q is not documented", status, media)
			}
		})
	}
	for status := range documented {
		if !seen[status] {
			t.Errorf("the contract documents %s for every path, and nothing gets it", status)
		}
	}
}

// exchange sends a text to a server, and returns the status and the media type of the response.
func rawExchange(t *testing.T, address, text string) (status, media string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, text) }() // the server may close before it has read all
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	resp.Body.Close()
	media, _, _ = strings.Cut(resp.Header.Get("Content-Type"), ";")
	return fmt.Sprint(resp.StatusCode), media
}

var pathParameter = regexp.MustCompile(`\{[a-z_]+\}`)

// TestEveryPathHasDocumentedStatuses sends what the router refuses to each path of the contract.
func TestEveryPathHasDocumentedStatuses(t *testing.T) {
	h := newEnv(t)
	methods, fits := map[string][]string{}, map[string]*regexp.Regexp{} // by path
	for _, op := range conformance.Contract(t).Operations() {
		methods[op.Path] = append(methods[op.Path], op.Method)
		fits[op.Path] = regexp.MustCompile("^" + pathParameter.ReplaceAllString(op.Path, "[^/]+") + "$")
	}
	send := func(method, path string, want int) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s %s returned %d, want %d", method, path, w.Code, want)
		}
		conformance.CheckResponse(t, r, w.Result())
		return w
	}
	all := []string{"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PURGE"}
	for i, path := range slices.Sorted(maps.Keys(methods)) {
		sample := pathParameter.ReplaceAllString(path, "x")
		var allowed []string // by all templates that fit: prompt-templates/{id} fits prompt-templates/resolve
		for template, declared := range methods {
			if fits[template].MatchString(sample) {
				allowed = append(allowed, declared...)
			}
		}
		for j, method := range all {
			if !proof.Running() && (i+j)%3 > 0 { // each method for a third of the paths
				continue
			}
			if pathParameter.MatchString(path) {
				send(method, pathParameter.ReplaceAllString(path, "..%2f.."), 404)
			}
			if slices.Contains(allowed, method) {
				continue
			}
			refused := send(method, sample, 405)
			if allow := refused.Header().Get("Allow"); strings.Contains(allow, method) ||
				!strings.Contains(refused.Body.String(), "supports only "+allow+".") {
				t.Errorf("%s %s is refused, and allowed: %s; body %s", method, sample, allow, refused.Body)
			}
		}
		if !strings.HasSuffix(path, "}") {
			send("GET", sample+"/", 404)
		}
	}
}
