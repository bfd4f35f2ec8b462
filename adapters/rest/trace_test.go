package rest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/golang/mock/gomock"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/atrium-hq/atrium/adapters/rest/events"
	"github.com/atrium-hq/atrium/adapters/rest/presences"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// spans serves a request, and returns what was recorded.
func (h *env) spans(r *http.Request) []sdktrace.ReadOnlySpan {
	recorder := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
	Traced(h, tracer).ServeHTTP(httptest.NewRecorder(), r)
	return recorder.Ended()
}

func TestTheSpanOfARequest(t *testing.T) {
	h := newEnv(t)
	h.prompts.EXPECT().Get(gomock.Any(), gomock.Any(), prompt.ID(aTemplate)).Return(nil, prompt.ErrNotFound)
	h.prompts.EXPECT().Get(gomock.Any(), gomock.Any(), gomock.Any()).Return(nil, errors.New("broken"))
	const other = "ptpl_01jb4rqnx1e5btz2s1v2j9k3mz"
	for name, test := range map[string]struct {
		method, path, span string
		status             codes.Code
		want               map[string]string // beside what every span has
	}{
		"refused": {"GET", promptsPath + "/" + aTemplate, "GET " + promptsPath + "/{prompt_template_id}", codes.Unset,
			map[string]string{"http.request.method": "GET", "http.route": promptsPath + "/{prompt_template_id}",
				"http.response.status_code": "404"}},
		"failed": {"GET", promptsPath + "/" + other, "GET " + promptsPath + "/{prompt_template_id}", codes.Error,
			map[string]string{"http.request.method": "GET", "http.route": promptsPath + "/{prompt_template_id}",
				"http.response.status_code": "500"}},
		"of an unknown method": {"BREW", "/api/me", "BREW unmatched", codes.Unset,
			map[string]string{"http.request.method": "_OTHER", "http.request.method_original": "BREW",
				"http.response.status_code": "405"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(test.method, "http://atrium.example:8080"+test.path,
				strings.NewReader("{}"))
			r.Header.Set("Authorization", "Bearer "+h.token)
			r.Header.Set("User-Agent", "test/1")
			r.Header.Set("X-Forwarded-For", "203.0.113.7") // of no trusted proxy
			r.Header.Set("Traceparent", "00-"+aTrace+"-00f067aa0ba902b7-01")
			spans := h.spans(r)
			require.Equal(t, "spans", len(spans), 1)
			got := map[string]string{}
			for _, a := range spans[0].Attributes() {
				got[string(a.Key)] = a.Value.Emit()
			}
			delete(got, "http.response.body.size") // it is that of the problem
			for name, value := range map[string]string{
				"client.address": "192.0.2.1", "network.peer.address": "192.0.2.1", "network.peer.port": "1234",
				"network.protocol.version": "1.1", "server.address": "atrium.example", "server.port": "8080",
				"url.scheme": "http", "url.path": test.path, "user_agent.original": "test/1", "http.request.body.size": "2",
			} {
				test.want[name] = value
			}
			assert.NoDiff(t, "the attributes", cmp.Diff(test.want, got))
			s := spans[0]
			if s.Name() != test.span || s.Status().Code != test.status || s.SpanKind() != trace.SpanKindServer ||
				s.Parent().TraceID().String() != aTrace || s.SpanContext().TraceID().String() != aTrace {
				t.Errorf("%s of %v, %v, %v", s.Name(), s.Parent(), s.SpanKind(), s.Status())
			}
		})
	}
}

func TestPathsWithSecretsAndStreamsHaveNoSpan(t *testing.T) {
	h := newEnv(t)
	for _, path := range []string{"/embed/a-token", "/sandbox/a-secret", presences.StreamPath, events.StreamPath} {
		r := httptest.NewRequest("DELETE", path, nil) // which no stream answers
		if spans := h.spans(r); len(spans) > 0 {
			t.Errorf("%s has %s", path, spans[0].Name())
		}
	}
}
