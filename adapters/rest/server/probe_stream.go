package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// Probing is an outbound operation that probes a credential. If the Accept header names text/event-stream before JSON,
// the response has an event for each check as soon as its step has ended, and then one with the result.
type Probing struct {
	Kind interface { // Outbound or DryRunnable
		perform(r *Call) (answer ports.Answer, isReplay bool, err error)
	}
}

func (p Probing) handler(a *API, op *openapi.Operation) http.Handler {
	plain := a.handle(op, p.Kind.perform)
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		if EventsWanted(hr) == "" {
			plain.ServeHTTP(w, hr)
			return
		}
		s := &probeStream{ResponseWriter: w, header: http.Header{}}
		a.handleAs(op, handling{produces: EventStream, run: func(r *Call) (ports.Answer, bool, error) {
			r.Watch = s.check
			return p.performWatched(w, r)
		}}).ServeHTTP(s, hr)
		s.end()
	})
}

// performWatched runs the operation as long as its caller has the access. The result is the refusal if they lose it.
func (p Probing) performWatched(w http.ResponseWriter, r *Call) (ports.Answer, bool, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	proof, err := r.Proof()
	if err != nil {
		return ports.Answer{}, false, err
	}
	r.Request = r.WithContext(ctx)
	s := NewStream(r, w, cancel)
	s.Proof, s.Finite = proof, true
	defer r.API.TrackStream(s)()
	answer, isReplay, err := p.Kind.perform(r)
	if cause := s.EndedBy(); err != nil && cause != nil { // what was stored is reported
		err = cause
	}
	return answer, isReplay, err
}

// probeStream is the response of a probe that is watched. Until the first check it is an ordinary response, so that a
// request that is refused has the usual status. From then on it keeps what is written to it, for the last event.
type probeStream struct {
	http.ResponseWriter

	mu     sync.Mutex // a check may come from another goroutine
	begun  bool
	ended  bool
	header http.Header // of the result, which is not sent
	status int
	result bytes.Buffer
}

// probeResult is the data of the last event.
type probeResult struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

// Unwrap is for http.ResponseController.
func (s *probeStream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Header implements http.ResponseWriter.
func (s *probeStream) Header() http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		return s.header
	}
	return s.ResponseWriter.Header()
}

// WriteHeader implements http.ResponseWriter.
func (s *probeStream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		s.status = status
		return
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (s *probeStream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		return s.result.Write(b)
	}
	return s.ResponseWriter.Write(b)
}

// check sends a check. The result follows even if the client is gone.
func (s *probeStream) check(c connection.Check) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if !s.begun {
		s.begun = true
		SetStreamHeaders(s.ResponseWriter.Header())
		s.ResponseWriter.WriteHeader(http.StatusOK)
	}
	s.event("check", convert.ToCheck(&c))
}

// end sends the result, unless there was no check.
func (s *probeStream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended = true; s.begun {
		s.event("result", probeResult{Status: s.status, Body: s.result.Bytes()})
	}
}

// event sends an event. The server's timeout for writing a response ends it.
func (s *probeStream) event(name string, data any) {
	var out bytes.Buffer
	out.WriteString("event: " + name + "\ndata: ")
	if err := Encode(&out, data); err != nil { // these types always encode
		panic(err)
	}
	out.WriteString("\n")
	if _, err := s.ResponseWriter.Write(out.Bytes()); err == nil {
		_ = http.NewResponseController(s.ResponseWriter).Flush() // as Write, it fails if the client is gone
	}
}
