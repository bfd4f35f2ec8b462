package node

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/otlp"
)

// startTracing sends traces to the collector, if the environment names one. OTEL_TRACES_SAMPLER sets the sampling.
func startTracing(ctx context.Context, version string) (stop func(), err error) {
	if !otlp.Configured() {
		return func() {}, nil
	}
	exporter, err := otlp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	info, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName("atrium"),
		semconv.ServiceVersion(version)), resource.WithFromEnv(), resource.WithHost())
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(info))
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = provider.Shutdown(ctx) // spans that the collector does not accept in time are lost
	}, nil
}
