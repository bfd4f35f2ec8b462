package server

import (
	"encoding/json"
	"net/http"
	"sync"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// Probing is an outbound operation that probes a credential. If the Accept header names text/event-stream before JSON,
// the response has an event for each check as soon as its step has ended, and then one with the result. Until the first
// check it is an ordinary response, so that a request that is refused has the usual status.
type Probing struct {
	Kind interface { // Outbound or DryRunnable
		Kind
		perform(r *Call) (answer ports.Answer, isReplay bool, err error)
	}
}

func (p Probing) stages(a *API, op *openapi.Operation) stages {
	watched := a.ordinary(op, p.performWatched)
	watched.begin = func(r *Call) { r.Produces = EventStream }
	watched.authenticate = (*Call).AuthenticateReader
	watched.respond = (*Call).respondWatched
	watched.refuse = (*Call).refuseWatched
	return p.Kind.stages(a, op).insteadFor(EventsWanted, watched)
}

// performWatched runs the operation as long as its caller has the access. The result is the refusal if they lose it.
func (p Probing) performWatched(r *Call) (ports.Answer, bool, error) {
	s := NewStream(r.Context(), r, r.writer)
	s.isFinite = true
	defer s.cancel(nil)
	r.Request, r.stream = r.WithContext(s.ctx), s
	w := &probeWatcher{stream: s}
	r.Watch = w.send
	defer r.API.trackStream(s)()
	answer, isReplay, err := p.Kind.perform(r)
	w.end()
	if cause := s.EndedBy(); err != nil && cause != nil { // what was stored is reported
		err = cause
	}
	return answer, isReplay, err
}

// probeWatcher sends the checks of a probe, which may come from another goroutine.
type probeWatcher struct {
	stream *Stream

	mu    sync.Mutex
	ended bool
}

// send sends a check. The probe continues even if the client is gone.
func (w *probeWatcher) send(c connection.Check) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.stream.Event("check", convert.ToCheck(&c))
	_ = w.stream.Flush()
}

// end waits for a check that is being sent, and sends no other.
func (w *probeWatcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}

// respondWatched sends the result: as an event if there was a check, and else as an ordinary response.
func (r *Call) respondWatched(answer ports.Answer, isReplay bool) {
	if Observed(r.Request).status == 0 {
		r.respond(answer, isReplay)
		return
	}
	r.stream.Event("result", probeResult{Status: answer.Status, Body: answer.Body})
	_ = r.stream.Flush() // the client may be gone
}

// refuseWatched is respondWatched for a refusal.
func (r *Call) refuseWatched(err error) {
	if Observed(r.Request).status == 0 {
		r.refuse(err)
		return
	}
	r.recordRefusal(err)
	f := PublicError(err)
	r.API.SetProblemHeaders(http.Header{}, r.Request, f, err)
	r.respondWatched(r.API.problemAnswer(r.Request, f, err), false)
}

// probeResult is the data of the last event.
type probeResult struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}
