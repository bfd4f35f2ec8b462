// Package otlp sends traces to a collector by OTLP over HTTP, in protobuf. OpenTelemetry's exporter does the same with
// the packages of gRPC, which HTTP does not need; what it makes of spans is used here.
//
// The environment configures it as "OpenTelemetry Protocol Exporter" of OpenTelemetry's specification says. Each
// variable OTEL_EXPORTER_OTLP_X gives way to OTEL_EXPORTER_OTLP_TRACES_X.
package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const contentType = "application/x-protobuf"

// Configured reports whether the environment names a collector.
func Configured() bool { return variable("ENDPOINT") != "" }

// variable returns a variable of the environment, or "".
func variable(name string) string {
	return cmp.Or(strings.TrimSpace(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_"+name)),
		strings.TrimSpace(os.Getenv("OTEL_EXPORTER_OTLP_"+name)))
}

// New returns an exporter to the collector that the environment names. It opens no connection. An error names the
// variable, and does not contain its value, which may be secret.
func New(ctx context.Context) (*otlptrace.Exporter, error) {
	c, err := newClient()
	if err != nil {
		return nil, err
	}
	return otlptrace.New(ctx, c)
}

// client implements otlptrace.Client.
type client struct {
	url    string
	header http.Header
	gzip   bool
	http   *http.Client
}

var _ otlptrace.Client = (*client)(nil)

// newClient reads the variables OTEL_EXPORTER_OTLP_* that OpenTelemetry's specification defines.
func newClient() (*client, error) {
	c := &client{header: http.Header{}}
	endpoint, err := endpoint()
	if err != nil {
		return nil, err
	}
	c.url = endpoint.String()
	switch variable("COMPRESSION") {
	case "", "none":
	case "gzip":
		c.gzip = true
	default:
		return nil, errors.New("OTEL_EXPORTER_OTLP_COMPRESSION must be gzip or none")
	}
	if err := c.readHeaders(); err != nil {
		return nil, err
	}
	c.header.Set("Content-Type", contentType)
	if c.header.Get("User-Agent") == "" {
		c.header.Set("User-Agent", "OTel OTLP Exporter Go/"+otlptrace.Version())
	}
	timeout, err := strconv.ParseUint(cmp.Or(variable("TIMEOUT"), "10000"), 10, 31)
	if err != nil {
		return nil, errors.New("OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:errcheck,forcetypeassert // documented
	if transport.TLSClientConfig, err = tlsConfig(); err != nil {
		return nil, err
	}
	c.http = &http.Client{Transport: transport, Timeout: time.Duration(timeout) * time.Millisecond,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// endpoint returns the URL for traces: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT as it is, or v1/traces below
// OTEL_EXPORTER_OTLP_ENDPOINT.
func endpoint() (*url.URL, error) {
	name, suffix := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", ""
	if strings.TrimSpace(os.Getenv(name)) == "" {
		name, suffix = "OTEL_EXPORTER_OTLP_ENDPOINT", "v1/traces"
	}
	u, err := url.Parse(variable("ENDPOINT"))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errors.New(name + " must be a URL with http or https")
	}
	u.Path = path.Join("/", u.Path, suffix)
	return u, nil
}

// readHeaders reads key1=value1,key2=value2, with percent-encoded values.
func (c *client) readHeaders() error {
	for pair := range strings.SplitSeq(variable("HEADERS"), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		text, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !found || err != nil || name == "" || strings.ContainsAny(name, " \t:") {
			return errors.New("OTEL_EXPORTER_OTLP_HEADERS must be pairs of name=value, separated by commas, with " +
				"percent-encoded values")
		}
		c.header.Set(name, text)
	}
	return nil
}

// tlsConfig reads the authorities that a collector's certificate is verified with, and the client's own certificate.
func tlsConfig() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := variable("CERTIFICATE"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, errors.New("OTEL_EXPORTER_OTLP_CERTIFICATE names a file without certificates")
		}
	}
	certificate, key := variable("CLIENT_CERTIFICATE"), variable("CLIENT_KEY")
	if certificate == "" && key == "" {
		return config, nil
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// Start implements otlptrace.Client.
func (*client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client. The provider has stopped its uploads before.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. It tries for at most a minute.
func (c *client) UploadTraces(ctx context.Context, spans []*tracev1.ResourceSpans) error {
	// ExportTraceServiceRequest is the same message as TracesData; its package imports gRPC.
	body, err := proto.Marshal(&tracev1.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if c.gzip {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(body) // a buffer takes everything
		_ = w.Close()
		body = packed.Bytes()
	}
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 5*time.Second, 30*time.Second
	_, err = backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, c.send(ctx, body) },
		backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(time.Minute))
	return err
}

// send posts spans. The specification names the statuses that are retried; every other error is permanent.
func (c *client) send(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return backoff.Permanent(err)
	}
	r.Header = c.header.Clone()
	if c.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := c.http.Do(r)
	var failure *url.Error
	if errors.As(err, &failure) { // which quotes the URL
		return fmt.Errorf("the collector at %s: %w", r.URL.Host, failure.Err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	switch {
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusBadGateway ||
		resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusGatewayTimeout:
		if pause := retryAfter(resp.Header.Get("Retry-After")); pause > 0 {
			return fmt.Errorf("%w: %w", refused(resp), &backoff.RetryAfterError{Duration: pause})
		}
		return refused(resp)
	case resp.StatusCode/100 != 2:
		return backoff.Permanent(refused(resp))
	case err != nil:
		return backoff.Permanent(err) // the spans have arrived
	}
	// The response to a complete success is empty, or has an empty member of two bytes.
	if len(answer) > 2 && resp.Header.Get("Content-Type") == contentType {
		return backoff.Permanent(fmt.Errorf("the collector rejected spans: %q", answer))
	}
	return nil
}

func refused(resp *http.Response) error {
	return fmt.Errorf("the collector at %s returned %s", resp.Request.URL.Host, resp.Status)
}

// retryAfter returns a Retry-After header's pause, or 0.
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if moment, err := http.ParseTime(text); err == nil {
		return time.Until(moment)
	}
	return 0
}
