package otlp

import (
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var spans = []*tracev1.ResourceSpans{{ScopeSpans: []*tracev1.ScopeSpans{{Spans: []*tracev1.Span{{
	TraceId: []byte("0123456789abcdef"), SpanId: []byte("01234567"), Name: "GET /api/me"}}}}}}

// set sets variables of the environment without their common beginning.
func set(t *testing.T, variables map[string]string) {
	for name, value := range variables {
		t.Setenv("OTEL_EXPORTER_OTLP_"+name, value)
	}
}

func TestSpansArriveAsTheEnvironmentSays(t *testing.T) {
	type request struct {
		*http.Request
		body []byte
	}
	arrivedRequests := make(chan request, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(r.Body)
		}
		text, _ := io.ReadAll(body)
		arrivedRequests <- request{r, text}
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write([]byte{10, 0}) // an empty partial_success, as the collector of OpenTelemetry sends
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	folder := t.TempDir()
	authority, key := filepath.Join(folder, "authority.pem"), filepath.Join(folder, "key.pem")
	write := func(file, kind string, der []byte) {
		t.Helper()
		text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
		require.NoError(t, os.WriteFile(file, text, 0o600))
	}
	write(authority, "CERTIFICATE", server.Certificate().Raw)
	der, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	write(key, "PRIVATE KEY", der)
	for name, test := range map[string]struct {
		variables map[string]string
		path      string
		header    map[string]string
		client    bool // presents a certificate
	}{
		"the endpoint of all signals": {map[string]string{"ENDPOINT": server.URL}, "/v1/traces", nil, false},
		"below a path":                {map[string]string{"ENDPOINT": server.URL + "/otel/"}, "/otel/v1/traces", nil, false},
		"the endpoint of traces, as is": {
			map[string]string{"TRACES_ENDPOINT": server.URL + "/in"}, "/in", nil, false,
		},
		"the endpoint of traces, first": {map[string]string{"ENDPOINT": "http://nowhere", "TRACES_ENDPOINT": server.URL},
			"/", nil, false},
		"headers": {map[string]string{"ENDPOINT": server.URL, "HEADERS": "api-key = a%20b=, X-Scope-OrgID=7,"},
			"/v1/traces", map[string]string{"Api-Key": "a b=", "X-Scope-Orgid": "7"}, false},
		"compressed": {map[string]string{"ENDPOINT": server.URL, "COMPRESSION": "gzip"}, "/v1/traces",
			map[string]string{"Content-Encoding": "gzip"}, false},
		"a client's certificate": {map[string]string{"ENDPOINT": server.URL, "CLIENT_CERTIFICATE": authority,
			"CLIENT_KEY": key}, "/v1/traces", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			set(t, test.variables)
			set(t, map[string]string{"CERTIFICATE": authority})
			c, err := newClient()
			require.NoError(t, err)
			require.NoError(t, c.UploadTraces(t.Context(), spans))
			r := <-arrivedRequests
			var data tracev1.TracesData
			if err := proto.Unmarshal(r.body, &data); err != nil || len(data.ResourceSpans) != 1 ||
				!proto.Equal(data.ResourceSpans[0], spans[0]) {
				t.Errorf("%v arrived, %v", &data, err)
			}
			if r.URL.Path != test.path || r.Method != http.MethodPost ||
				(len(r.TLS.PeerCertificates) == 1) != test.client {
				t.Errorf("%s %s, %d certificates", r.Method, r.URL.Path, len(r.TLS.PeerCertificates))
			}
			if test.header == nil {
				test.header = map[string]string{"Content-Encoding": ""}
			}
			test.header["Content-Type"] = "application/x-protobuf"
			for name, value := range test.header {
				assert.Equal(t, name+": Get", r.Header.Get(name), value)
			}
		})
	}
}

func TestVariablesThatCannotBeUsedAreNamedWithoutTheirValues(t *testing.T) {
	for _, test := range []struct{ name, value string }{
		{"ENDPOINT", "hunter2:4318"}, {"ENDPOINT", "unix:///hunter2"}, {"TRACES_ENDPOINT", "http:/hunter2"},
		{"HEADERS", "hunter2"}, {"HEADERS", "a=hunter2%zz"}, {"HEADERS", "a b=hunter2"}, {"COMPRESSION", "hunter2"},
		{"TIMEOUT", "hunter2"}, {"CERTIFICATE", os.DevNull}, {"CLIENT_CERTIFICATE", os.DevNull},
	} {
		t.Run(test.name, func(t *testing.T) {
			set(t, map[string]string{"ENDPOINT": "http://collector:4318"})
			set(t, map[string]string{test.name: test.value})
			_, err := New(t.Context())
			if err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_"+test.name) ||
				strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%q: %v", test.value, err)
			}
		})
	}
}

// answers is a transport that returns one response after another.
type answers []func(*http.Request) (*http.Response, error)

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	next := (*a)[0]
	*a = (*a)[1:]
	return next(r)
}

func answer(status int, header, body string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		if name, value, ok := strings.Cut(header, ": "); ok {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = w.WriteString(body)
		resp := w.Result()
		resp.Request = r
		return resp, nil
	}
}

func TestUploadsAreRetriedAsTheProtocolSays(t *testing.T) {
	broken := func(*http.Request) (*http.Response, error) { return nil, errors.New("connection reset") }
	const partial = "Content-Type: application/x-protobuf"
	for name, test := range map[string]struct {
		answers     answers
		least, most time.Duration
		failure     string
		left        int
	}{
		"a success": {answers{answer(200, "", "")}, 0, 0, "", 0},
		"a server that is busy": {answers{answer(503, "", ""), answer(200, "", "")}, 2 * time.Second, 8 * time.Second,
			"", 0},
		"a server that says when": {answers{answer(429, "Retry-After: 40", ""), answer(200, "", "")}, 40 * time.Second,
			40 * time.Second, "", 0},
		"a connection that breaks": {answers{broken, answer(200, "", "")}, 2 * time.Second, 8 * time.Second, "", 0},
		"a server that says when, too late": {answers{answer(429, "Retry-After: 61", ""), broken}, 0, 0,
			"the collector at collector:4318 returned 429", 1},
		"a refusal": {answers{answer(400, "", "no"), broken}, 0, 0,
			"the collector at collector:4318 returned 400", 1},
		"another place":       {answers{answer(307, "Location: http://other/", ""), broken}, 0, 0, "returned 307", 1},
		"a partial success":   {answers{answer(200, partial, "\n\x06\x08\x01\x12\x02no"), broken}, 0, 0, "rejected spans", 1},
		"a page of a gateway": {answers{answer(200, "Content-Type: text/html", "<html>"), broken}, 0, 0, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			set(t, map[string]string{"ENDPOINT": "http://collector:4318", "HEADERS": "api-key=hunter2"})
			c, err := newClient()
			require.NoError(t, err)
			synctest.Test(t, func(t *testing.T) {
				c.http.Transport = &test.answers
				start := time.Now()
				err := c.UploadTraces(t.Context(), spans)
				took := time.Since(start)
				if took < test.least || took > test.most || len(test.answers) != test.left {
					t.Errorf("after %s, with %d answers left: %v", took, len(test.answers), err)
				}
				if (err == nil) != (test.failure == "") ||
					(err != nil && !strings.Contains(err.Error(), test.failure)) {
					t.Errorf("%v instead of %q", err, test.failure)
				}
			})
		})
	}
}
