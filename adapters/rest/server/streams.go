package server

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
)

// NewStream returns the stream that responds to r, whose caller may not be known yet. cancel ends the context of r.
func NewStream(r *Call, w http.ResponseWriter, cancel context.CancelCauseFunc) *Stream {
	return &Stream{
		Call: r, Observation: Observed(r.Request), caller: r.By, cancel: cancel,
		Controller: http.NewResponseController(w),
	}
}

// Flush sends the collected bytes. It fails if the reader does not receive them in time, or if the stream was ended.
func (s *Stream) Flush(w http.ResponseWriter) error {
	if s.Out.Len() == 0 {
		return nil
	}
	if err := s.Controller.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil {
		return err
	}
	if err := s.EndedBy(); err != nil { // the deadline has replaced the one of end
		return err
	}
	_, err := w.Write(s.Out.Bytes())
	if err == nil {
		err = s.Controller.Flush()
	}
	if s.Out.Reset(); s.Out.Cap() > 2*RowsWrite { // a snapshot's, which comes once
		s.Out = bytes.Buffer{}
	}
	return err
}

// StreamBody is the response of a stream.
type StreamBody interface {
	Authenticate(w http.ResponseWriter) error // sets the caller and the proof
	Open() error                              // checks the request, and sets the header
	Run(w http.ResponseWriter) error          // sends the response; an error after its first byte breaks it off
	Close()                                   // after open succeeded
}

// stream runs a request of an operation of the kind streaming. The usual timeout of a request applies until the stream
// is open.
func (a *API) stream(k Streaming, op *openapi.Operation, media string, w http.ResponseWriter, hr *http.Request) {
	obs := Observed(hr)
	obs.Route = op.Path
	ctx, cancel := context.WithCancelCause(hr.Context())
	defer cancel(nil)
	opening, confirm := context.WithTimeout(ctx, a.Config.RequestTimeout)
	defer confirm()
	r := a.newCall(w, hr.WithContext(opening), op, media)
	s := NewStream(r, w, cancel)
	body := k.Open(s)
	if !s.Finite {
		defer context.AfterFunc(a.streams, func() { cancel(nil) })()
		if a.streams.Err() != nil {
			cancel(nil)
		}
	}
	err := body.Authenticate(w)
	if err == nil {
		err = r.parse(w)
	}
	if err == nil {
		var release func()
		if release, err = k.Reserve(s); err == nil {
			defer release()
			err = s.openWithinLimits(body)
		}
	}
	if err != nil {
		s.refuse(w, err)
		return
	}
	defer body.Close()
	defer a.TrackStream(s)()
	r.Request = hr.WithContext(ctx)
	if media == EventStream {
		obs.streaming = hr.Method == http.MethodGet
		w.WriteHeader(http.StatusOK) // before there is an event
	}
	if err = body.Run(w); err == nil {
		return
	}
	if cause := s.EndedBy(); cause != nil && IsOutage(err) {
		err = cause
	}
	if obs.status == 0 {
		s.refuse(w, err)
		return
	}
	if hr.Context().Err() == nil || s.EndedBy() != nil { // else the client is gone
		a.Log.WarnContext(ctx, "a response was not completed", "request_id", obs.ID, "route", op.Path, "error", err)
	}
	s.broken = true
	panic(http.ErrAbortHandler) // closes the connection, so that the client notices
}

// refuse responds to a request whose stream has not begun.
func (s *Stream) refuse(w http.ResponseWriter, err error) {
	if s.Produces == EventStream && errors.Is(err, context.Canceled) && s.API.streams.Err() != nil {
		sendAway(w)
		return
	}
	w.Header().Del("Content-Disposition") // of a download
	s.recordRefusal(err)
	s.API.Problem(w, s.Request, err)
}

// Authenticate sets the caller from the request's credential.
func (s *Stream) Authenticate(w http.ResponseWriter) (err error) {
	if s.By, s.owner, err = s.API.authenticate(
		w, s.Request, s.Observation, s.Operation, s.workspaceOptional,
	); err == nil {
		s.Proof, err = s.Call.Proof()
	}
	return err
}

// Close implements StreamBody.
func (*Stream) Close() {}

// openWithinLimits waits for the gates and opens the stream. An open stream occupies no slot in them.
func (s *Stream) openWithinLimits(body StreamBody) error {
	if err := s.API.enter(s.Context(), s.API.Gates, s.By); err != nil {
		return err
	}
	defer s.API.Gates.Leave(s.By)
	return body.Open()
}

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

// Streaming is an operation whose response is sent in parts (x-stream), and ends with the access of its reader.
type Streaming struct {
	Media   func(*http.Request) string                // of the stream that a request wants; empty: Plain responds
	Plain   Kind                                      // nil if each response is a stream
	Reserve func(*Stream) (release func(), err error) // counts the stream while it is open
	Open    func(*Stream) StreamBody
}

func (s Streaming) handler(a *API, op *openapi.Operation) http.Handler {
	var plain http.Handler
	if s.Plain != nil {
		plain = s.Plain.handler(a, op)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if media := s.Media(r); media != "" {
			a.stream(s, op, media, w, r)
			return
		}
		plain.ServeHTTP(w, r)
	})
}

// Always is the media of a streaming operation whose responses all have one media type.
func Always(media string) func(*http.Request) string {
	return func(*http.Request) string { return media }
}
