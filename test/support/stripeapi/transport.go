package stripeapi

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
)

// NewInProcess is New without a network: only its Transport reaches the account.
func NewInProcess(t testing.TB, key string, plans payment.Plans) *Server {
	t.Helper()
	s := newServer(t, key, plans)
	s.URL = "http://stripe.test"
	t.Cleanup(func() { close(s.ended) })
	return s
}

// Transport returns a transport that calls s directly. It is faster than a connection, and waits for time only, so
// that it can be used in a bubble of testing/synctest.
func (s *Server) Transport() http.RoundTripper { return transport{s} }

type transport struct{ server *Server }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	received := r.Clone(r.Context())
	received.Header = http.Header{} // names are canonical when they have been received
	for name, values := range r.Header {
		received.Header[http.CanonicalHeaderKey(name)] = values
	}
	if r.Body == nil {
		received.Body = http.NoBody
	}
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	t.server.ServeHTTP(w, received)
	switch {
	case r.Context().Err() != nil:
		return nil, r.Context().Err()
	case w.broken:
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// recorder keeps a response. It can be hijacked, which breaks the connection.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
	broken bool
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// Write implements http.ResponseWriter.
func (w *recorder) Write(p []byte) (int, error) { return w.body.Write(p) }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) { w.status = status }

// Hijack implements http.Hijacker.
func (w *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.broken = true
	conn, other := net.Pipe()
	return conn, nil, other.Close()
}
