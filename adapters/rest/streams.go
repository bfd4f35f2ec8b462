package rest

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

// openStream is a response that is sent in parts, so that it could outlast the access of its reader. While it is
// tracked, it ends with that. No other response can flush (see recorder).
type openStream struct {
	*request
	obs   *observed
	proof account.Proof   // of the caller, or of the person who opened a preview; zero for other visitors
	pass  *chat.EmbedPass // of a visitor; nil for a caller
	to    *http.ResponseController
	out   bytes.Buffer

	// finite is set for a response that ends by itself within the time of a request. It is served also while the
	// server drains.
	finite bool
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	caller   identity.Actor // as of the last check
	ended    error          // why it was ended; nil while it goes on
	broken   bool           // the response is broken off
	finished bool           // its handler has returned, so its connection serves another request
}

// newStream returns the stream that responds to r, whose caller may not be known yet. cancel ends the context of r.
func newStream(r *request, w http.ResponseWriter, cancel context.CancelCauseFunc) *openStream {
	return &openStream{
		request: r, obs: observation(r.Request), caller: r.by, cancel: cancel, to: http.NewResponseController(w),
	}
}

// end ends the stream, also while it waits for its reader. The error is what a new request would get.
func (s *openStream) end(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished || s.ended != nil {
		return
	}
	s.ended = cause
	_ = s.to.SetWriteDeadline(time.Now())
	s.cancel(cause)
}

// endedBy returns the error of end; nil while the stream goes on.
func (s *openStream) endedBy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// current returns the caller with their role as of the last check.
func (s *openStream) current() identity.Actor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.caller
}

// flush sends the collected bytes. It fails if the reader does not receive them in time, or if the stream was ended.
func (s *openStream) flush(w http.ResponseWriter) error {
	if s.out.Len() == 0 {
		return nil
	}
	if err := s.to.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil {
		return err
	}
	if err := s.endedBy(); err != nil { // the deadline has replaced the one of end
		return err
	}
	_, err := w.Write(s.out.Bytes())
	if err == nil {
		err = s.to.Flush()
	}
	if s.out.Reset(); s.out.Cap() > 2*rowsWrite { // a snapshot's, which comes once
		s.out = bytes.Buffer{}
	}
	return err
}

// openStreams are the open streams of the node. All of their readers are checked in a few look-ups: some for each
// stream would be thousands per second, with hardly any change found.
type openStreams struct {
	mu   sync.Mutex
	all  map[*openStream]bool
	stop context.CancelFunc // of recheckLoop, which runs as long as any is open
}

// trackStream ends s when its reader loses the access, or the server drains and s is not finite, until done is called.
func (a *API) trackStream(s *openStream) (done func()) {
	s.caller, s.obs.tracked = s.by, true
	o := &a.openStreams
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) == 0 {
		o.all = map[*openStream]bool{}
		ctx, stop := context.WithCancel(context.Background()) // also while the server drains
		o.stop = stop
		go a.recheckLoop(ctx)
	}
	o.all[s] = true
	stop := func() bool { return false }
	if !s.finite {
		stop = context.AfterFunc(a.streams, func() { s.end(context.Canceled) })
	}
	return func() {
		stop()
		s.mu.Lock()
		s.finished = true
		if s.ended != nil && !s.broken {
			_ = s.to.SetWriteDeadline(time.Now().Add(streamWrite)) // of the end of the response
		}
		if lost, ok := errors.AsType[*fault.Error](s.ended); ok {
			s.obs.code = lost.Code // in the log of the request, whose status tells nothing of it
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
		if err := a.Services.Seats.Keep(ctx, a.now()); err != nil && ctx.Err() == nil {
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
func (o *openStreams) byOrg() map[identity.OrgID][]*openStream {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := map[identity.OrgID][]*openStream{}
	for s := range o.all {
		out[s.obs.org.ID] = append(out[s.obs.org.ID], s)
	}
	return out
}

// recheckOrg ends the streams of an org whose readers have lost the access. An outage ends no stream.
func (a *API) recheckOrg(ctx context.Context, id identity.OrgID, streams []*openStream) error {
	ctx, cancel := context.WithTimeout(ctx, a.config.RequestTimeout)
	defer cancel()
	org, ok := a.Orgs().ByID(id)
	if !ok {
		for _, s := range streams {
			s.end(identity.ErrUnauthenticated)
		}
		return nil
	}
	isVisit := func(s *openStream) bool { return s.proof == account.Proof{} }
	visits := slices.DeleteFunc(slices.Clone(streams), func(s *openStream) bool { return !isVisit(s) })
	return errors.Join(a.recheckCallers(ctx, org, slices.DeleteFunc(streams, isVisit)),
		a.recheckVisits(ctx, org, visits))
}

// recheckCallers checks the streams of callers with a credential, and previews, which depend on one.
func (a *API) recheckCallers(ctx context.Context, org *identity.Org, streams []*openStream) error {
	if len(streams) == 0 {
		return nil
	}
	proofs := make([]account.Proof, len(streams))
	for i, s := range streams {
		proofs[i] = s.proof
	}
	now := a.now()
	principals, err := a.Services.Tickets.ResolveProofs(ctx, org, proofs, now)
	if err != nil {
		return err
	}
	for i, s := range streams {
		by, err := actorOf(principals[i], s.obs, now)
		if err == nil {
			err = s.recheck(ctx, by)
		}
		if err != nil && !isOutage(err) {
			s.end(err)
		}
	}
	return nil
}

// recheck returns the error that the operation would return to its caller, who is now by.
func (s *openStream) recheck(ctx context.Context, by identity.Actor) error {
	if s.pass != nil {
		return s.Embeds.MayPreview(ctx, by, *s.pass)
	}
	if by.User != s.by.User || by.Operator != s.by.Operator {
		return identity.ErrUnauthenticated
	}
	if needed := identity.ParseRole(s.op.Access.Needs); s.op.Access.Area == "workspace" && by.Role < needed {
		return identity.Needs(needed)
	}
	s.mu.Lock()
	s.caller = by
	s.mu.Unlock()
	return by.RequireScope(s.op.Scope)
}

// recheckVisits checks the streams of visitors.
func (a *API) recheckVisits(ctx context.Context, org *identity.Org, streams []*openStream) error {
	if len(streams) == 0 {
		return nil
	}
	passes := make([]chat.EmbedPass, len(streams))
	for i, s := range streams {
		passes[i] = *s.pass
	}
	continues, err := a.Services.Embeds.Continue(ctx, org.ID, passes, a.now())
	if err != nil {
		return err
	}
	for i, s := range streams {
		if !continues[i] {
			s.end(chat.ErrEmbedSessionInvalid)
		}
	}
	return nil
}

// isOutage reports whether an error says nothing about a caller's access.
func isOutage(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return !ok || f.Kind == fault.Unavailable
}

// streamBody is the response of a stream.
type streamBody interface {
	Authenticate(w http.ResponseWriter) error // sets the caller and the proof
	Open() error                              // checks the request, and sets the header
	Run(w http.ResponseWriter) error          // sends the response; an error after its first byte breaks it off
	Close()                                   // after open succeeded
}

// stream runs a request of an operation of the kind streaming. The usual timeout of a request applies until the stream
// is open.
func (a *API) stream(k streaming, op *openapi.Operation, media string, w http.ResponseWriter, hr *http.Request) {
	obs := observation(hr)
	obs.route = op.Path
	ctx, cancel := context.WithCancelCause(hr.Context())
	defer cancel(nil)
	opening, opened := context.WithTimeout(ctx, a.config.RequestTimeout)
	defer opened()
	r := a.newRequest(w, hr.WithContext(opening), op, media)
	s := newStream(r, w, cancel)
	body := k.open(s)
	if !s.finite {
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
		if release, err = k.reserve(s); err == nil {
			defer release()
			err = s.openWithinLimits(body)
		}
	}
	if err != nil {
		s.refuse(w, err)
		return
	}
	defer body.Close()
	defer a.trackStream(s)()
	r.Request = hr.WithContext(ctx)
	if media == eventStream {
		obs.streaming = hr.Method == http.MethodGet
		w.WriteHeader(http.StatusOK) // before there is an event
	}
	if err = body.Run(w); err == nil {
		return
	}
	if cause := s.endedBy(); cause != nil && isOutage(err) {
		err = cause
	}
	if obs.status == 0 {
		s.refuse(w, err)
		return
	}
	if hr.Context().Err() == nil || s.endedBy() != nil { // else the client is gone
		a.Log.WarnContext(ctx, "a response was not completed", "request_id", obs.id, "route", op.Path, "error", err)
	}
	s.broken = true
	panic(http.ErrAbortHandler) // closes the connection, so that the client notices
}

// refuse responds to a request whose stream has not begun.
func (s *openStream) refuse(w http.ResponseWriter, err error) {
	if s.produces == eventStream && errors.Is(err, context.Canceled) && s.api.streams.Err() != nil {
		sendAway(w)
		return
	}
	w.Header().Del("Content-Disposition") // of a download
	s.recordRefusal(err)
	s.api.problem(w, s.Request, err)
}

// Authenticate sets the caller from the request's credential.
func (s *openStream) Authenticate(w http.ResponseWriter) (err error) {
	if s.by, s.owner, err = s.api.authenticate(w, s.Request, s.obs, s.op, s.workspaceOptional); err == nil {
		s.proof, err = s.request.proof()
	}
	return err
}

func (*openStream) Close() {}

// openWithinLimits waits for the gates and opens the stream. An open stream occupies no slot in them.
func (s *openStream) openWithinLimits(body streamBody) error {
	if err := s.api.enter(s.Context(), s.api.gates, s.by); err != nil {
		return err
	}
	defer s.api.gates.leave(s.by)
	return body.Open()
}

// asSubscription counts a stream that lasts as long as its reader wants, until release is called: for its workspace and
// its address on this node, and for its workspace on all nodes.
func (s *openStream) asSubscription() (release func(), err error) {
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

// asDownload occupies a slot for a response that is read while it is sent, until release is called.
func (s *openStream) asDownload() (release func(), err error) {
	if err := s.api.enter(s.Context(), s.api.downloading, s.by); err != nil {
		return nil, err
	}
	return func() { s.api.downloading.leave(s.by) }, nil
}

const rowsWrite = 64 << 10 // bytes that are written at a time
