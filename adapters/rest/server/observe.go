package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
)

// statusClientGone is what the log, the metrics and traces say of a failure that no client has read, because it hung up
// before: nginx's status for that. Anyone can hang up, so it must not look like a failure of the server.
const statusClientGone = 499

// unmatched is the route for a request that has none.
const unmatched = "unmatched"

// observe wraps every handler. It gives the request an ID, turns a panic into a documented response, and
// logs and measures every response.
func (a *API) observe(w http.ResponseWriter, r *http.Request) {
	o := &Observation{
		ID: requestID(r.Header.Get("Request-Id")), Address: a.address(r), Route: unmatched, begun: time.Now(),
		trace: traceID(r),
	}
	rec := &recorder{ResponseWriter: w, obs: o}
	r = WithObservation(r, o)
	w.Header().Set("Request-Id", o.ID)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.TLS != nil { // a proxy that ends TLS sends it itself
		w.Header().Set("Strict-Transport-Security", "max-age=63072000")
	}
	if a.draining.Load() { // a proxy must not reuse a connection that the server is about to close
		w.Header().Set("Connection", "close")
	}
	defer func() {
		p := recover()
		isAborted := p == http.ErrAbortHandler //nolint:errorlint // net/http also compares it directly
		if p != nil && !isAborted {
			a.Log.ErrorContext(
				r.Context(), "panic", "request_id", o.ID, "route", o.Route, "panic", p, "stack", string(debug.Stack()),
			)
			if o.status == 0 {
				a.Problem(rec, r, errInternal)
			}
		}
		if p == nil && o.status >= http.StatusInternalServerError && errors.Is(r.Context().Err(), context.Canceled) {
			o.status, o.Code = statusClientGone, "client_closed_request"
		}
		a.logRequest(r, o)
		if isAborted {
			panic(p)
		}
	}()
	a.dispatch(rec, r)
}

// dispatch finds the org of the host and hands the request to the router.
func (a *API) dispatch(w http.ResponseWriter, r *http.Request) {
	o := Observed(r)
	if a.servesAnyHost(r.URL.Path) {
		a.routePath(w, r)
		return
	}
	if len(r.Header.Values("X-Forwarded-Host")) > 1 && a.trusted(r.RemoteAddr) {
		a.Problem(w, r, errAmbiguousHost)
		return
	}
	org, err := a.Orgs().ByHost(a.Host(r))
	if err != nil {
		a.Problem(w, r, err)
		return
	}
	o.Org = org
	if !a.handleCORS(w, r, org) {
		a.routePath(w, r)
	}
}

// handleCORS handles preflights (done), and adds the headers that let pages of other origins read responses.
func (a *API) handleCORS(w http.ResponseWriter, r *http.Request, org *identity.Org) (isDone bool) {
	for _, c := range a.cors {
		if strings.HasPrefix(r.URL.Path, c.Prefix) {
			return c.Handle(w, r)
		}
	}
	return orgCORS(w, r, org)
}

// routePath refuses a path with an encoded slash, which is part of a segment (RFC 3986, section 2.2): the router would
// treat it as the end of the segment, and find another resource than the requested one.
func (a *API) routePath(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(strings.ToUpper(r.URL.RawPath), "%2F") {
		a.Problem(w, r, ErrNoSuchPath)
		return
	}
	a.router.ServeHTTP(w, r)
}

// logRequest counts and logs a request that has ended, and completes its span.
func (a *API) logRequest(r *http.Request, o *Observation) {
	took := time.Since(o.begun)
	if !o.streaming {
		durations := a.Measures.requests.WithLabelValues(methodLabel(r.Method), o.Route, strconv.Itoa(o.status))
		durations.Observe(took.Seconds())
	}
	if o.Code != "" {
		a.Measures.problems.WithLabelValues(o.Code).Inc()
	}
	if span := trace.SpanFromContext(r.Context()); span.IsRecording() {
		describe(span, r.Method, o)
	}
	attrs := []slog.Attr{
		slog.String("request_id", o.ID),
		slog.String("method", r.Method),
		slog.String("route", o.Route),
		slog.Int("status", o.status),
		slog.Int("bytes", o.bytes),
		slog.Float64("ms", float64(took.Microseconds())/1000),
		slog.String("address", o.Address),
	}
	if o.Org != nil {
		attrs = append(attrs, slog.String("org", o.Org.Slug))
	}
	if o.User != "" {
		attrs = append(attrs, slog.String("user_id", string(o.User)), slog.String("api_key_id", string(o.Key)))
	}
	if o.refused != nil {
		attrs = append(attrs, slog.String("refused_api_key_id", string(o.refused.ID)),
			slog.String("refused_api_key_hint", o.refused.Hint))
	}
	if o.session != "" {
		attrs = append(attrs, slog.String("session_id", string(o.session)))
	}
	if o.Workspace != "" {
		attrs = append(attrs, slog.String("workspace_id", string(o.Workspace)))
	}
	if o.Code != "" {
		attrs = append(attrs, slog.String("code", o.Code))
	}
	if o.trace != "" {
		attrs = append(attrs, slog.String("trace_id", o.trace))
	}
	a.Log.LogAttrs(r.Context(), slog.LevelInfo, "request", attrs...)
}

// describe adds to a request's span what is known after its response.
func describe(span trace.Span, method string, o *Observation) {
	span.SetName(method + " " + o.Route)
	if label := methodLabel(method); label == method {
		span.SetAttributes(semconv.HTTPRequestMethodKey.String(method))
	} else {
		span.SetAttributes(semconv.HTTPRequestMethodOther, semconv.HTTPRequestMethodOriginal(method))
	}
	if o.Route != unmatched {
		span.SetAttributes(semconv.HTTPRoute(o.Route))
	}
	span.SetAttributes(semconv.ClientAddress(o.Address), semconv.HTTPResponseStatusCode(o.status),
		semconv.HTTPResponseBodySize(o.bytes))
	if o.status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
}

// traceID returns the id of the trace that a request belongs to: of the server's span, or, if the server sends no
// traces, of the client's (W3C Trace Context).
func traceID(r *http.Request) string {
	ctx := r.Context()
	if !trace.SpanContextFromContext(ctx).IsValid() && r.Header["Traceparent"] != nil {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		return span.TraceID().String()
	}
	return ""
}

// methodLabel limits the values that clients can give to a label.
func methodLabel(method string) string {
	switch method {
	case http.MethodOptions, http.MethodGet, http.MethodHead,
		http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return method
	}
	return "other"
}

// requestID returns the client's Request-Id if it is safe for a log line, and a new one otherwise.
func requestID(submitted string) string {
	if isPrintable(submitted) && len(submitted) <= 128 {
		return submitted
	}
	return id.New("req")
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.observe(w, r) }
