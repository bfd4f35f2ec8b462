package server

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Streaming is an operation whose response is sent in parts (x-stream), and ends with the access of its reader.
type Streaming struct {
	Media   func(*http.Request) string                // of the stream that a request wants; empty: Plain responds
	Plain   Kind                                      // nil if each response is a stream
	Reserve func(*Stream) (release func(), err error) // counts the stream while it is open; may be nil
	Open    func(*Stream) StreamBody

	// Finite is set for a response that ends by itself within a request's time. It is served also while the server
	// drains.
	Finite bool

	// Authenticate sets the caller. (*Call).AuthenticateReader, if it is nil.
	Authenticate func(*Call) error

	// Visitors are the readers, if they need no credential; nil for callers with one.
	Visitors *Visitors
}

// Visitors are stream readers who need no credential.
type Visitors struct {
	Malformed func(*Call, error) error // is told of requests that are not as openapi.yaml declares them

	// Recheck ends an org's streams whose readers have lost the access.
	Recheck func(ctx context.Context, org *identity.Org, streams []*Stream) error
}

// StreamBody is a stream's response.
type StreamBody interface {
	Open() error // checks the request
	Run() error  // sends the response; an error after its first byte breaks it off, unless it is an Explainer
	Close()      // after Open succeeded
}

// Explainer is a StreamBody that can tell within the response why it ends early.
type Explainer interface {
	// Explain collects the reason in Stream.Out, so that the response is complete. isLost is true if the reader has
	// lost the access, and may receive nothing else.
	Explain(reason *fault.Error, isLost bool)
}

// ErrorTrailer is the trailer with the code for which a response is incomplete (RFC 9110, section 6.5). An Explainer
// announces it in the header.
const ErrorTrailer = "Atrium-Error"

// lastWrite is how long a reader may take to receive what is being written when the stream is ended, and then the
// reason.
const lastWrite = 250 * time.Millisecond

// Stream is a response that is sent in parts, so that it could outlast the access of its reader. While it is
// tracked, it ends with that. No other response can flush (see recorder).
type Stream struct {
	*Call
	Observation *Observation
	Body        StreamBody   // nil for a probe
	Out         bytes.Buffer // what Flush sends

	isFinite   bool
	visitors   *Visitors
	controller *http.ResponseController
	ctx        context.Context // of the response
	cancel     context.CancelCauseFunc

	mu       sync.Mutex
	caller   identity.Actor // as of the last check
	ended    error          // why it was ended; nil while it goes on
	broken   bool           // the response is broken off
	finished bool           // its reader is not checked any more
}

// NewStream returns the stream that responds to r, whose caller may not be known yet. Its context is derived from ctx.
func NewStream(ctx context.Context, r *Call, w http.ResponseWriter) *Stream {
	s := &Stream{Call: r, Observation: Observed(r.Request), caller: r.By, controller: http.NewResponseController(w)}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	r.writer, r.ReplyHeader = w, w.Header()
	return s
}

// stages are a stream's. It is opened within the gates, and occupies no turn in them then. A request's usual timeout
// applies until it is open.
func (k Streaming) stages(a *API, op *openapi.Operation) stages {
	stream := stages{
		begin:        k.begin,
		authenticate: k.Authenticate,
		parse:        (*Call).parse,
		gates:        a.Gates,
		act: func(r *Call) (ports.Answer, bool, error) {
			if err := r.stream.ctx.Err(); err != nil { // Open need not notice, as with data in memory
				return ports.Answer{}, false, err
			}
			return ports.Answer{}, false, r.stream.Body.Open()
		},
		respond: func(r *Call, _ ports.Answer, _ bool) { r.stream.send() },
		refuse:  func(r *Call, err error) { r.stream.refuse(err) },
	}
	if k.Authenticate == nil {
		stream.authenticate = (*Call).AuthenticateReader
	}
	if k.Visitors != nil {
		stream.authenticate, stream.gates, stream.parse = nil, nil, parseFor(k.Visitors.Malformed)
	}
	if k.Reserve != nil {
		stream.reserve = func(r *Call) (func(), error) { return k.Reserve(r.stream) }
	}
	if k.Plain == nil {
		return stream
	}
	return k.Plain.stages(a, op).insteadFor(k.Media, stream)
}

// begin gives r its stream.
func (k Streaming) begin(r *Call) {
	s := NewStream(r.connection, r, r.writer)
	s.isFinite, s.visitors = k.Finite, k.Visitors
	r.atEnd(func() { s.cancel(nil) })
	opening, confirm := context.WithTimeout(s.ctx, r.API.Config.RequestTimeout)
	r.atEnd(confirm)
	if !s.isFinite {
		stop := context.AfterFunc(r.API.streams, func() { s.cancel(nil) })
		r.atEnd(func() { stop() })
		if r.API.streams.Err() != nil {
			s.cancel(nil)
		}
	}
	r.Produces = k.Media(r.Request)
	r.Request, r.stream = r.WithContext(opening), s
	s.Body = k.Open(s)
}

// send sends the response.
func (s *Stream) send() {
	defer s.Body.Close()
	defer s.API.trackStream(s)()
	s.Request = s.WithContext(s.ctx)
	s.Observation.streaming = s.Produces == EventStream && s.Method == http.MethodGet
	err := s.Body.Run()
	if err == nil {
		if s.Observation.status == 0 { // it is empty
			s.Begin()
		}
		return
	}
	if cause := s.EndedBy(); cause != nil && IsOutage(err) {
		err = cause
	}
	if s.Observation.status == 0 {
		s.refuse(err)
		return
	}
	if s.connection.Err() == nil || s.EndedBy() != nil { // else the client is gone
		s.API.Log.WarnContext(s.Context(), "a response was not completed", "request_id", s.Observation.ID, "route",
			s.Operation.Path, "error", err)
	}
	if s.explain(err) {
		return
	}
	s.broken = true
	panic(http.ErrAbortHandler) // closes the connection, so that the client notices
}

// explain ends the response with the reason for which it is incomplete. It returns false if the body cannot tell it, or
// if the reader receives nothing: net/http repeats an earlier write's error.
func (s *Stream) explain(err error) bool {
	body, ok := s.Body.(Explainer)
	if !ok {
		return false
	}
	isLost := s.EndedBy() != nil
	if isLost {
		s.Out.Reset()
	}
	reason := PublicError(err)
	if errors.Is(err, context.Canceled) {
		reason = ports.ErrUnavailable // the server stops
	}
	body.Explain(reason, isLost)
	s.Observation.Code = reason.Code
	s.ReplyHeader.Set(ErrorTrailer, reason.Code)
	if s.controller.SetWriteDeadline(time.Now().Add(lastWrite)) != nil {
		return false
	}
	if _, err := s.writer.Write(s.Out.Bytes()); err != nil {
		return false
	}
	return s.controller.Flush() == nil
}

// refuse responds to a request whose stream has not begun.
func (s *Stream) refuse(err error) {
	if s.Produces == EventStream && errors.Is(err, context.Canceled) && s.API.streams.Err() != nil {
		s.Out.WriteString(RetryStream) // after a response with an error, EventSource would give up
		s.Begin()
		_, _ = s.writer.Write(s.Out.Bytes()) // the reader may be gone
		return
	}
	s.ReplyHeader.Del("Content-Disposition") // of a download
	s.Call.refuse(err)
}

// Begin sends the header, with what the body has not set.
func (s *Stream) Begin() {
	for name, value := range map[string]string{
		"Content-Type": s.Produces, "Cache-Control": "no-store",
		"X-Accel-Buffering": "no", // nginx would keep parts of it
	} {
		if s.ReplyHeader.Get(name) == "" {
			s.ReplyHeader.Set(name, value)
		}
	}
	s.writer.WriteHeader(http.StatusOK)
}

// Flush sends the collected bytes, after the header. It fails if the reader does not receive them in time, or if the
// stream was ended.
func (s *Stream) Flush() error {
	if s.Observation.status == 0 {
		s.Begin()
	}
	if s.Method == http.MethodHead {
		s.Out.Reset()
	}
	if s.Out.Len() == 0 {
		return s.EndedBy()
	}
	if err := s.controller.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil {
		return err
	}
	if err := s.EndedBy(); err != nil { // the deadline has replaced the one of End
		return err
	}
	_, err := s.writer.Write(s.Out.Bytes())
	if err == nil {
		err = s.controller.Flush()
	}
	if s.Out.Reset(); s.Out.Cap() > 2*RowsWrite { // a snapshot's, which comes once
		s.Out = bytes.Buffer{}
	}
	return err
}

// Event collects an event. Its data is in one line.
func (s *Stream) Event(name string, data any) {
	s.Out.WriteString("event: " + name + "\ndata: ")
	if err := Encode(&s.Out, data); err != nil { // texts always encode
		panic(err)
	}
	s.Out.WriteString("\n")
}

// Close implements StreamBody.
func (*Stream) Close() {}

// AsSubscription counts a stream that lasts as long as its reader wants, until release is called: for its workspace and
// its address on this node, and for its workspace on all nodes.
func (s *Stream) AsSubscription() (release func(), err error) {
	ws, address := s.By.Workspace, s.Observation.Address
	if err := s.API.streamCounts.enter(ws, address); err != nil {
		return nil, s.API.Refuse("streams", err)
	}
	free, err := s.Seats.Take(s.Context(), s.By)
	if err != nil {
		s.API.streamCounts.leave(ws, address)
		return nil, err
	}
	return func() {
		s.API.streamCounts.leave(ws, address)
		if err := free(); err != nil {
			s.API.Log.WarnContext(s.Context(), "the end of a stream was not stored; it counts until this node ends",
				"request_id", s.Observation.ID, "error", err)
		}
	}, nil
}

// AsDownload occupies a slot for a response that is read while it is sent, until release is called.
func (s *Stream) AsDownload() (release func(), err error) {
	if err := s.API.enter(s.Context(), s.API.Downloading, s.By); err != nil {
		return nil, err
	}
	return func() { s.API.Downloading.Leave(s.By) }, nil
}

// RowsWrite is how many bytes of rows are written at a time.
const RowsWrite = 64 << 10

// Always is the media for a streaming operation whose responses all have one media type.
func Always(media string) func(*http.Request) string {
	return func(*http.Request) string { return media }
}
