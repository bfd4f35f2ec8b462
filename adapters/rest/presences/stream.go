package presences

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/presences"
	"github.com/atrium-hq/atrium/domain/identity"
)

// StreamPath is the path of the stream.
const StreamPath = "/api/presence/stream"

var streamPresences = server.Streaming{
	Media:        server.Always(server.EventStream),
	Authenticate: authenticate,
	Reserve:      (*server.Stream).AsSubscription,
	Open:         func(s *server.Stream) server.StreamBody { return &stream{Stream: s} },
}

// stream is one open stream of presences.
type stream struct {
	*server.Stream
	watch     *presences.Watch
	reset     bool
	resumedAt int64  // the last Seq that the reader knew at the beginning
	key       string // binds its event ids to the caller and the query

	receipt string // binds them to the ticket that opened the stream; empty without a ticket
}

// Close implements server.StreamBody.
func (s *stream) Close() { s.watch.Close() }

// authenticate sets the caller, from the request's credential or from a ticket.
func authenticate(r *server.Call) error {
	ticket := ticketOf(r)
	if ticket == "" {
		return r.AuthenticateReader()
	}
	redeem := r.Tickets.Redeem
	if hasReceived(r, receiptOf(r, ticket)) {
		redeem = r.Tickets.Resume
	}
	return r.AuthenticateByTicket(ticket, redeem)
}

// ticketOf returns a request's ticket; empty without one, or with a credential.
func ticketOf(r *server.Call) string {
	if r.Header.Get("Authorization") != "" {
		return ""
	}
	return r.URL.Query().Get("ticket")
}

// Open starts to watch, from the reader's last event if the request names one.
func (s *stream) Open() error {
	var users []identity.UserID
	if userID := s.Query.Get("user_id"); userID != "" {
		for id := range strings.SplitSeq(userID, ",") {
			users = append(users, identity.UserID(id))
		}
	}
	if ticket := ticketOf(s.Call); ticket != "" {
		s.receipt = receiptOf(s.Call, ticket)
	}
	s.key = streamKey(s.By, s.Query.Get("user_id"))
	newest, resumes, isKnown := resumePoint(s.Call, s.key)
	var err error
	if s.watch, s.reset, err = s.Presences.Watch(s.Context(), s.By, users, newest); err != nil {
		return err
	}
	if s.reset = s.reset || (resumes && !isKnown); !s.reset {
		s.resumedAt = newest
	}
	if err := s.Presences.Attend(s.Context(), s.By, s.device(), true); err != nil {
		s.watch.Close()
		return err
	}
	return nil
}

func (s *stream) device() string {
	if d := s.Query.Get("device_id"); d != "" {
		return d
	}
	return "stream"
}

// Run writes events until the reader is gone or too slow, the caller loses the permission, or the server stops.
func (s *stream) Run() error {
	if s.Method == http.MethodHead {
		return nil
	}
	// A reader that is disconnected before the first event can also resume.
	s.Out.WriteString("id: " + eventID{s.key, s.resumedAt, s.receipt}.String() + "\n" + server.RetryStream)
	if s.reset {
		s.Out.WriteString("event: reset\ndata: {}\n\n")
	}
	comment, attend := time.NewTicker(server.StreamComment), time.NewTicker(presences.StreamEvery)
	defer comment.Stop()
	defer attend.Stop()
	for {
		if s.Flush() != nil {
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
			isChanged, err := s.watch.Recheck(s.Context())
			if s.logStreamError(err); isChanged {
				s.Out.WriteString("event: reset\ndata: {}\n\n")
			}
		case <-attend.C:
			s.logStreamError(s.Presences.Attend(s.Context(), s.By, s.device(), false))
		case <-comment.C:
			s.Out.WriteString(":\n\n")
		}
	}
}

// next collects the events that the reader has not seen.
func (s *stream) next() (goOn bool) {
	b, err := s.watch.Next(s.Context())
	if err != nil {
		if s.Context().Err() == nil && !errors.Is(err, presences.ErrTooSlow) {
			s.API.Log.WarnContext(
				s.Context(), "a stream of presences ended", "request_id", s.Observation.ID, "error", err,
			)
		}
		return false
	}
	if b == nil || (!b.Snapshot && len(b.Views) == 0 && len(b.Gone) == 0) {
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
	s.Out.WriteString("event: " + kind + "\nid: " + id.String() + "\ndata: ")
	if err := server.Encode(&s.Out, data); err != nil { // which ends the line
		return false
	}
	s.Out.WriteString("\n")
	return true
}

// logStreamError logs an error without ending the stream.
func (s *stream) logStreamError(err error) {
	if err != nil && s.Context().Err() == nil {
		s.API.Log.WarnContext(
			s.Context(), "a stream of presences was not kept up; it is tried again", "request_id", s.Observation.ID,
			"error", err,
		)
	}
}

// issueStreamTicket returns a ticket that replaces the caller's credential in a stream's URL.
func issueStreamTicket(r *server.Call) (server.Reply, error) {
	p, err := r.Proof()
	if err != nil {
		return server.Reply{}, err
	}
	token, expires, err := r.Tickets.Issue(r.Context(), r.By.Org, p, r.By.At)
	if err != nil {
		return server.Reply{}, err
	}
	r.API.KnownTokens.Remember(token.Reveal(), r.By.At)
	out := server.OK(openapi.StreamTicket{Ticket: token.Reveal(), ExpiresAt: openapi.Time(expires)})
	out.Reveals = string(r.By.User)
	return out, nil
}
