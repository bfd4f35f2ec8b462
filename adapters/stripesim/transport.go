package stripesim

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
)

// ServeHTTP implements http.Handler.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out, err := s.respond(r)
	switch {
	case err != nil:
		http.Error(w, "the simulator has no objects", http.StatusInternalServerError)
	case out.silent:
		<-r.Context().Done()
	case out.broken:
		hangUp(w)
	default:
		for name, values := range out.header() {
			w.Header()[name] = values
		}
		w.WriteHeader(out.status)
		_, _ = w.Write(out.body)
	}
}

func (r reply) header() http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Request-Id": {"req_simulated"}}
	if r.replayed {
		h.Set("Idempotent-Replayed", "true")
	}
	if r.wait {
		h.Set("Retry-After", "1")
	}
	return h
}

// hangUp resets the connection.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, isKnown := conn.(*net.TCPConn); isKnown {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// Transport returns a transport that calls s directly, without a network. A call that is not answered times out at
// once.
func (s *Simulator) Transport() http.RoundTripper { return transport{s} }

type transport struct{ simulator *Simulator }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	received := r.Clone(r.Context())
	received.Header = http.Header{} // names are canonical when they have been received
	for name, values := range r.Header {
		received.Header[http.CanonicalHeaderKey(name)] = values
	}
	if received.Body == nil {
		received.Body = http.NoBody
	}
	out, err := t.simulator.respond(received)
	switch {
	case r.Context().Err() != nil:
		return nil, r.Context().Err()
	case err != nil:
		return nil, err
	case out.silent:
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	case out.broken:
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return &http.Response{
		StatusCode: out.status, Status: http.StatusText(out.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: out.header(), Body: io.NopCloser(bytes.NewReader(out.body)), ContentLength: int64(len(out.body)),
		Request: r,
	}, nil
}
