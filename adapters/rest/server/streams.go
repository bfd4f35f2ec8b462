package server

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

const (
	// accessCheck is the interval at which the access of the readers of open streams is checked. A stream ends within
	// a second after its reader has lost it, and the check itself takes a part of that.
	accessCheck = 500 * time.Millisecond

	streamWrite = 10 * time.Second // a client that reads nothing for this long is disconnected
)

// Stream is a response that is sent in parts, so that it could outlast the access of its reader. While it is
// tracked, it ends with that. No other response can flush (see recorder).
type Stream struct {
	*Call
	Observation *Observation
	Proof       account.Proof   // of the caller, or of the person who opened a preview; zero for other visitors
	Pass        *chat.EmbedPass // of a visitor; nil for a caller
	Controller  *http.ResponseController
	Out         bytes.Buffer // what Flush sends

	// Finite is set for a response that ends by itself within the time of a request. It is served also while the
	// server drains.
	Finite bool
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	caller   identity.Actor // as of the last check
	ended    error          // why it was ended; nil while it goes on
	broken   bool           // the response is broken off
	finished bool           // its handler has returned, so its connection serves another request
}

// NewStream returns the stream that responds to r, whose caller may not be known yet. cancel ends the context of r.
func NewStream(r *Call, w http.ResponseWriter, cancel context.CancelCauseFunc) *Stream {
	return &Stream{
		Call: r, Observation: Observed(r.Request), caller: r.By, cancel: cancel,
		Controller: http.NewResponseController(w),
	}
}

// End ends the stream, also while it waits for its reader. The error is what a new request would get.
func (s *Stream) End(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished || s.ended != nil {
		return
	}
	s.ended = cause
	_ = s.Controller.SetWriteDeadline(time.Now())
	s.cancel(cause)
}

// EndedBy returns the error of End; nil while the stream goes on.
func (s *Stream) EndedBy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// Current returns the caller with their role as of the last check.
func (s *Stream) Current() identity.Actor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.caller
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

// openStreams are the open streams of the node. All of their readers are checked in a few look-ups: some for each
// stream would be thousands per second, with hardly any change found.
type openStreams struct {
	mu   sync.Mutex
	all  map[*Stream]bool
	stop context.CancelFunc // of recheckLoop, which runs as long as any is open
}

// TrackStream ends s when its reader loses the access, or the server drains and s is not Finite, until done is called.
func (a *API) TrackStream(s *Stream) (done func()) {
	s.caller, s.Observation.tracked = s.By, true
	o := &a.openStreams
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) == 0 {
		o.all = map[*Stream]bool{}
		ctx, stop := context.WithCancel(context.Background()) // also while the server drains
		o.stop = stop
		go a.recheckLoop(ctx)
	}
	o.all[s] = true
	stop := func() bool { return false }
	if !s.Finite {
		stop = context.AfterFunc(a.streams, func() { s.End(context.Canceled) })
	}
	return func() {
		stop()
		s.mu.Lock()
		s.finished = true
		if s.ended != nil && !s.broken {
			_ = s.Controller.SetWriteDeadline(time.Now().Add(streamWrite)) // of the end of the response
		}
		if lost, ok := errors.AsType[*fault.Error](s.ended); ok {
			s.Observation.Code = lost.Code // in the log of the request, whose status tells nothing of it
		}
		s.mu.Unlock()
		o.mu.Lock()
		defer o.mu.Unlock()
		if delete(o.all, s); len(o.all) == 0 {
			o.stop()
		}
	}
}

// recheckLoop checks the readers of all streams until the context ends.
func (a *API) recheckLoop(ctx context.Context) {
	check := time.NewTicker(accessCheck)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-check.C:
		}
		if err := a.Services.Seats.Keep(ctx, a.Now()); err != nil && ctx.Err() == nil {
			a.Log.WarnContext(ctx, "the node could not store that it is alive; it tries again", "error", err)
		}
		for id, streams := range a.openStreams.byOrg() {
			if err := a.recheckOrg(ctx, id, streams); err != nil && ctx.Err() == nil {
				a.Log.WarnContext(ctx, "the readers of streams could not be checked; it is tried again",
					"streams", len(streams), "error", err)
			}
		}
	}
}

// count returns how many streams are open.
func (o *openStreams) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.all)
}

// byOrg returns the open streams by org.
func (o *openStreams) byOrg() map[identity.OrgID][]*Stream {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := map[identity.OrgID][]*Stream{}
	for s := range o.all {
		out[s.Observation.Org.ID] = append(out[s.Observation.Org.ID], s)
	}
	return out
}

// recheckOrg ends the streams of an org whose readers have lost the access. An outage ends no stream.
func (a *API) recheckOrg(ctx context.Context, id identity.OrgID, streams []*Stream) error {
	ctx, cancel := context.WithTimeout(ctx, a.Config.RequestTimeout)
	defer cancel()
	org, ok := a.Orgs().ByID(id)
	if !ok {
		for _, s := range streams {
			s.End(identity.ErrUnauthenticated)
		}
		return nil
	}
	isVisit := func(s *Stream) bool { return s.Proof == account.Proof{} }
	visits := slices.DeleteFunc(slices.Clone(streams), func(s *Stream) bool { return !isVisit(s) })
	return errors.Join(a.recheckCallers(ctx, org, slices.DeleteFunc(streams, isVisit)),
		a.recheckVisits(ctx, org, visits))
}

// recheckCallers checks the streams of callers with a credential, and previews, which depend on one.
func (a *API) recheckCallers(ctx context.Context, org *identity.Org, streams []*Stream) error {
	if len(streams) == 0 {
		return nil
	}
	proofs := make([]account.Proof, len(streams))
	for i, s := range streams {
		proofs[i] = s.Proof
	}
	now := a.Now()
	principals, err := a.Services.Tickets.ResolveProofs(ctx, org, proofs, now)
	if err != nil {
		return err
	}
	for i, s := range streams {
		by, err := actorOf(principals[i], s.Observation, now)
		if err == nil {
			err = s.recheck(ctx, by)
		}
		if err != nil && !IsOutage(err) {
			s.End(err)
		}
	}
	return nil
}

// recheck returns the error that the operation would return to its caller, who is now by.
func (s *Stream) recheck(ctx context.Context, by identity.Actor) error {
	if s.Pass != nil {
		return s.Embeds.MayPreview(ctx, by, *s.Pass)
	}
	if by.User != s.By.User || by.Operator != s.By.Operator {
		return identity.ErrUnauthenticated
	}
	if needed := identity.ParseRole(
		s.Operation.Access.Needs,
	); s.Operation.Access.Area == "workspace" && by.Role < needed {
		return identity.Needs(needed)
	}
	s.mu.Lock()
	s.caller = by
	s.mu.Unlock()
	return by.RequireScope(s.Operation.Scope)
}

// recheckVisits checks the streams of visitors.
func (a *API) recheckVisits(ctx context.Context, org *identity.Org, streams []*Stream) error {
	if len(streams) == 0 {
		return nil
	}
	passes := make([]chat.EmbedPass, len(streams))
	for i, s := range streams {
		passes[i] = *s.Pass
	}
	continues, err := a.Services.Embeds.Continue(ctx, org.ID, passes, a.Now())
	if err != nil {
		return err
	}
	for i, s := range streams {
		if !continues[i] {
			s.End(chat.ErrEmbedSessionInvalid)
		}
	}
	return nil
}

// IsOutage reports whether an error says nothing about a caller's access.
func IsOutage(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return !ok || f.Kind == fault.Unavailable
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
	opening, opened := context.WithTimeout(ctx, a.Config.RequestTimeout)
	defer opened()
	r := a.NewRequest(w, hr.WithContext(opening), op, media)
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
		err = r.Parse(w)
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

const RowsWrite = 64 << 10 // bytes that are written at a time
