package rest

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
)

const (
	eventStream   = "text/event-stream"
	streamWrite   = 10 * time.Second  // a client that reads nothing for this long is disconnected
	retryStream   = "retry: 1000\n\n" // EventSource reconnects after a second
	streamComment = 15 * time.Second  // between comments, which keep proxies from closing the stream
)

// sseHandler is a response that continues until its reader is gone, its caller loses the permission, or the server
// stops.
type sseHandler interface {
	authenticate(w http.ResponseWriter) error // sets the caller and the proof
	open(w http.ResponseWriter) error         // sends the status
	run(w http.ResponseWriter)
	close() // after open succeeded
}

// sseStream is the part that all streams of server-sent events share.
type sseStream struct {
	*request
	obs   *observed
	proof account.Proof
	end   context.CancelFunc
	to    *http.ResponseController
	out   bytes.Buffer
}

// handleStream is handle for the stream that made returns. It is long-lived, so its caller is checked repeatedly.
func (a *API) handleStream(op *openapi.Operation, made func(*sseStream) sseHandler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		obs := observation(hr)
		obs.route = op.Path
		ctx, cancel := context.WithCancel(hr.Context())
		defer cancel()
		defer context.AfterFunc(a.streams, cancel)()
		if a.streams.Err() != nil {
			cancel()
		}
		hr = hr.WithContext(ctx)
		// The usual request timeout applies until the stream is open.
		opening, opened := context.WithTimeout(ctx, a.config.RequestTimeout)
		defer opened()
		r := &request{
			Request:  hr.WithContext(opening),
			Services: a.Services,
			api:      a,
			op:       op,
			produces: eventStream,
		}
		o := &sseStream{request: r, obs: obs, end: cancel, to: http.NewResponseController(w)}
		s := made(o)
		err := s.authenticate(w)
		if err == nil {
			err = r.parse(w)
		}
		done := func() {}
		if err == nil {
			done, err = o.count()
		}
		if err == nil {
			defer done()
			err = o.openWithinLimits(w, s)
		}
		if errors.Is(err, context.Canceled) && a.streams.Err() != nil {
			sendAway(w)
			return
		}
		if err != nil {
			a.problem(w, hr, err)
			return
		}
		obs.streaming = hr.Method == http.MethodGet
		defer s.close()
		defer a.trackStream(o)()
		r.Request = hr
		s.run(w)
	})
}

// authenticate sets the caller from the request's credential.
func (s *sseStream) authenticate(w http.ResponseWriter) (err error) {
	if s.by, s.owner, err = s.api.authenticate(w, s.Request, s.obs, s.op, s.workspaceOptional); err == nil {
		s.proof, err = s.request.proof()
	}
	return err
}

// count counts the stream for its workspace and its address on this node, and for its workspace on all nodes, until
// done is called.
func (s *sseStream) count() (done func(), err error) {
	ws, address := s.by.Workspace, s.obs.address
	if err := s.api.streamCounts.enter(ws, address); err != nil {
		return nil, s.api.refuse("streams", err)
	}
	free, err := s.Seats.Take(s.Context(), s.by)
	if err != nil {
		s.api.streamCounts.leave(ws, address)
		return nil, err
	}
	return func() {
		s.api.streamCounts.leave(ws, address)
		if err := free(); err != nil {
			s.api.Log.WarnContext(s.Context(), "the end of a stream was not stored; it counts until this node ends",
				"request_id", s.obs.id, "error", err)
		}
	}, nil
}

// openWithinLimits waits for the gates and opens the stream. An open stream occupies no slot in them.
func (s *sseStream) openWithinLimits(w http.ResponseWriter, stream sseHandler) error {
	if err := s.api.enter(s.Context(), s.api.gates, s.by); err != nil {
		return err
	}
	defer s.api.gates.leave(s.by)
	return stream.open(w)
}

func setStreamHeaders(h http.Header) {
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would buffer events
}

// flush sends the collected events. It fails if the reader does not receive them in time.
func (s *sseStream) flush(w http.ResponseWriter) error {
	if s.out.Len() == 0 {
		return nil
	}
	if err := s.to.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil {
		return err
	}
	_, err := w.Write(s.out.Bytes())
	if err == nil {
		err = s.to.Flush()
	}
	if s.out.Reset(); s.out.Cap() > 64<<10 { // a snapshot's, which comes once
		s.out = bytes.Buffer{}
	}
	return err
}
