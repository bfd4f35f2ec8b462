package rest

import (
	"net"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/atrium-hq/atrium/adapters/rest/events"
	"github.com/atrium-hq/atrium/adapters/rest/presences"
)

// Traced wraps the API with a span for each request that may be traced, in the trace of its client (W3C Trace Context).
// The API itself adds the route and the response. The attributes follow OpenTelemetry's "Semantic conventions for HTTP
// spans".
func Traced(api http.Handler, tracer trace.Tracer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isTraceable(r) {
			api.ServeHTTP(w, r)
			return
		}
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := tracer.Start(ctx, "http", trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(spanAttributes(r)...))
		defer span.End()
		api.ServeHTTP(w, r.WithContext(ctx))
	})
}

// isTraceable reports whether a request may be traced. Spans contain the path, and a frame page's path contains an
// embed token, and a sandbox page's path its secret. Streams are not traced either, since they may last for days.
func isTraceable(r *http.Request) bool {
	return !strings.HasPrefix(r.URL.Path, "/embed/") && !strings.HasPrefix(r.URL.Path, "/sandbox/") &&
		r.URL.Path != presences.StreamPath && r.URL.Path != events.StreamPath
}

// spanAttributes describe a request.
func spanAttributes(r *http.Request) []attribute.KeyValue {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	attributes := []attribute.KeyValue{semconv.URLScheme(scheme), semconv.URLPath(r.URL.Path),
		semconv.NetworkProtocolVersion(strings.TrimPrefix(r.Proto, "HTTP/"))}
	if host, port, err := net.SplitHostPort(r.Host); err != nil {
		attributes = append(attributes, semconv.ServerAddress(r.Host))
	} else if n, err := strconv.Atoi(port); err == nil {
		attributes = append(attributes, semconv.ServerAddress(host), semconv.ServerPort(n))
	}
	if host, port, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		attributes = append(attributes, semconv.NetworkPeerAddress(host))
		if n, err := strconv.Atoi(port); err == nil {
			attributes = append(attributes, semconv.NetworkPeerPort(n))
		}
	}
	if r.ContentLength > 0 {
		attributes = append(attributes, semconv.HTTPRequestBodySize(int(r.ContentLength)))
	}
	if agent := r.UserAgent(); agent != "" {
		attributes = append(attributes, semconv.UserAgentOriginal(agent))
	}
	return attributes
}
