package rest

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/application/presences"
	"github.com/atrium-hq/atrium/domain/identity"
)

const streamPath = "/api/presence/stream"

var streamPresences = streaming{
	media:   always(eventStream),
	reserve: (*openStream).asSubscription,
	open:    func(s *openStream) streamBody { return &stream{openStream: s} },
}

// stream is one open stream of presences.
type stream struct {
	*openStream
	watch     *presences.Watch
	reset     bool
	resumedAt int64  // the last Seq that the reader knew at the beginning
	key       string // binds its event ids to the caller and the query

	receipt string // binds them to the ticket that opened the stream; empty without a ticket
}

func (s *stream) Close() { s.watch.Close() }

// Authenticate sets the caller, from the request's credential or from a ticket.
func (s *stream) Authenticate(w http.ResponseWriter) (err error) {
	ticket := s.URL.Query().Get("ticket")
	if ticket == "" || s.Header.Get("Authorization") != "" {
		return s.openStream.Authenticate(w)
	}
	at := s.api.now()
	if err := s.api.limitFailedAuth(w.Header(), s.obs, ticket, at); err != nil {
		return err
	}
	s.receipt = receiptOf(s.api.Digester, s.obs.org.ID, ticket, s.URL.Query().Get("user_id"))
	redeem := s.Tickets.Redeem
	if s.hasReceived() {
		redeem = s.Tickets.Resume
	}
	if s.proof, err = redeem(s.Context(), s.obs.org.ID, ticket, at); err == nil {
		s.by, err = s.api.resolveProof(s.Context(), s.obs, s.proof, at)
	}
	s.api.measures.authenticated(byTicket, err)
	if err != nil {
		return s.api.countFailedAuth(w.Header(), s.obs, ticket, err)
	}
	s.obs.user, s.obs.key, s.obs.workspace = s.by.User, s.by.Key, s.by.Workspace
	return s.api.admit(w.Header(), s.by, s.by.Workspace, at)
}

// Open starts to watch, from the reader's last event if the request names one.
func (s *stream) Open() error {
	var users []identity.UserID
	if named := s.query.Get("user_id"); named != "" {
		for id := range strings.SplitSeq(named, ",") {
			users = append(users, identity.UserID(id))
		}
	}
	s.key = streamKey(s.by, s.query.Get("user_id"))
	above, resumes, known := s.resumePoint()
	var err error
	if s.watch, s.reset, err = s.Presences.Watch(s.Context(), s.by, users, above); err != nil {
		return err
	}
	if s.reset = s.reset || resumes && !known; !s.reset {
		s.resumedAt = above
	}
	if err := s.Presences.Attend(s.Context(), s.by, s.device(), true); err != nil {
		s.watch.Close()
		return err
	}
	setStreamHeaders(s.answer)
	return nil
}

func (s *stream) device() string {
	if d := s.query.Get("device_id"); d != "" {
		return d
	}
	return "stream"
}

// Run writes events until the reader is gone or too slow, the caller loses the permission, or the server stops.
func (s *stream) Run(w http.ResponseWriter) error {
	_ = s.to.SetReadDeadline(time.Time{}) // the server's is for requests that end
	if s.Method == http.MethodHead {
		return nil
	}
	// A reader that is disconnected before the first event can also resume.
	s.out.WriteString("id: " + eventID{s.key, s.resumedAt, s.receipt}.String() + "\n" + retryStream)
	if s.reset {
		s.out.WriteString("event: reset\ndata: {}\n\n")
	}
	comment, attend := time.NewTicker(streamComment), time.NewTicker(presences.StreamEvery)
	defer comment.Stop()
	defer attend.Stop()
	for {
		if s.flush(w) != nil {
			return nil
		}
		select {
		case <-s.Context().Done():
			return nil
		case <-s.watch.Ready:
			if !s.next() {
				return nil
			}
		case <-s.watch.Regrouped:
			changed, err := s.watch.Recheck(s.Context())
			if s.logStreamError(err); changed {
				s.out.WriteString("event: reset\ndata: {}\n\n")
			}
		case <-attend.C:
			s.logStreamError(s.Presences.Attend(s.Context(), s.by, s.device(), false))
		case <-comment.C:
			s.out.WriteString(":\n\n")
		}
	}
}

// next collects the events that the reader has not seen.
func (s *stream) next() (goOn bool) {
	b, err := s.watch.Next(s.Context())
	if err != nil {
		if s.Context().Err() == nil && !errors.Is(err, presences.ErrTooSlow) {
			s.api.Log.WarnContext(s.Context(), "a stream of presences ended", "request_id", s.obs.id, "error", err)
		}
		return false
	}
	if b == nil || !b.Snapshot && len(b.Views) == 0 && len(b.Gone) == 0 {
		return true
	}
	kind := "change"
	if b.Snapshot {
		kind = "snapshot"
	}
	data := openapi.PresenceBatch{
		Data: convert.Slice(b.Views, toPresence),
		Gone: []string{},
		Seq:  b.Seq,
		More: b.Snapshot && !b.Last,
	}
	for _, id := range b.Gone {
		data.Gone = append(data.Gone, string(id))
	}
	id := eventID{s.key, b.Seq, s.receipt}
	s.out.WriteString("event: " + kind + "\nid: " + id.String() + "\ndata: ")
	if err := encode(&s.out, data); err != nil { // which ends the line
		return false
	}
	s.out.WriteString("\n")
	return true
}

// logStreamError logs an error without ending the stream.
func (s *stream) logStreamError(err error) {
	if err != nil && s.Context().Err() == nil {
		s.api.Log.WarnContext(
			s.Context(), "a stream of presences was not kept up; it is tried again", "request_id", s.obs.id, "error",
			err,
		)
	}
}

// issueStreamTicket returns a ticket that replaces the caller's credential in the URL of a stream.
func issueStreamTicket(r *request) (reply, error) {
	p, err := r.proof()
	if err != nil {
		return reply{}, err
	}
	token, expires, err := r.Tickets.Issue(r.Context(), r.by.Org, p, r.by.At)
	if err != nil {
		return reply{}, err
	}
	r.api.knownTokens.remember(token.Reveal(), r.by.At)
	out := ok(openapi.StreamTicket{Ticket: token.Reveal(), ExpiresAt: openapi.Time(expires)})
	out.reveals = string(r.by.User)
	return out, nil
}
