package clients

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	atrium "github.com/atrium-hq/atrium/clients/go"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestTheGoClientIsTracedByOpenTelemetry does what docs/clients.md says, with its own exporter.
func TestTheGoClientIsTracedByOpenTelemetry(t *testing.T) {
	t.Parallel()
	var messages []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if messages = append(messages, r.Header.Get("Traceparent")); len(messages) == 1 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"user":{"id":"usr_1"}}`))
	}))
	t.Cleanup(server.Close)
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	tracedTransport := otelhttp.NewTransport(http.DefaultTransport, otelhttp.WithTracerProvider(provider),
		otelhttp.WithPropagators(propagation.TraceContext{}))
	client, err := atrium.New(server.URL, "atk_secret", atrium.WithHTTPClient(&http.Client{Transport: tracedTransport}))
	require.NoError(t, err)
	ctx, span := provider.Tracer("test").Start(t.Context(), "a request of the application")
	if _, err := client.Me.Get(ctx); err != nil {
		t.Fatal(err)
	}
	span.End()
	ends := recorder.Ended()
	if len(ends) != 3 || len(messages) != 2 {
		t.Fatalf("%d spans, %d requests", len(ends), len(messages))
	}
	for i, attempt := range ends[:2] {
		if attempt.Parent().SpanID() != span.SpanContext().SpanID() ||
			!strings.Contains(messages[i], attempt.SpanContext().SpanID().String()) {
			t.Errorf("attempt %d sent %q", i+1, messages[i])
		}
		for _, a := range attempt.Attributes() {
			if strings.Contains(a.Value.Emit(), "atk_secret") {
				t.Errorf("%s has the key", a.Key)
			}
		}
	}
	docs, err := os.ReadFile("../../docs/clients.md")
	if err != nil || !strings.Contains(string(docs),
		"atrium.WithHTTPClient(&http.Client{Transport: otelhttp.NewTransport(http.DefaultTransport)})") {
		t.Errorf("the documentation says something else: %v", err)
	}
}
