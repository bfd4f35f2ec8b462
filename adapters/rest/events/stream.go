package events

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/event"
)

const (
	// StreamPath is the path of the stream.
	StreamPath      = "/api/events/stream"
	eventStreamPart = 100         // events that are read at once
	eventStreamPoll = time.Second // between reads for the events of other nodes
	lastPlace       = 1<<53 - 1   // higher than any Seq
)

var streamEvents = server.Streaming{
	Media:   server.Always(server.EventStream),
	Reserve: (*server.Stream).AsSubscription,
	Open:    func(s *server.Stream) server.StreamBody { return &followedEvents{Stream: s} },
}

// followedEvents is one open stream of events. The id of each is its Seq.
type followedEvents struct {
	*server.Stream
	query event.FeedQuery // After is the last position that the reader knows
	reset bool            // the reader does not know what it could have missed
	news  <-chan struct{}
	stop  func()
}

// Close implements server.StreamBody.
func (s *followedEvents) Close() { s.stop() }

// Open finds where the reader continues.
func (s *followedEvents) Open() (err error) {
	s.query = event.FeedQuery{Limit: eventStreamPart}
	if types := s.Stream.Query.Get("types"); types != "" {
		s.query.Types = strings.Split(types, ",")
	}
	from := s.Header.Get("Last-Event-ID")
	if from == "" {
		from = s.Stream.Query.Get("after")
	}
	s.query.After, err = strconv.ParseInt(from, 10, 64)
	if isNew := from == ""; isNew || err != nil || s.query.After < 0 || s.query.After > lastPlace {
		end, err := s.Accounts.EventFeed(s.Context(), s.By, event.FeedQuery{After: math.MaxInt64, Limit: 1})
		if err != nil {
			return err
		}
		s.query.After, s.reset = end.Last, !isNew
	}
	if s.news, s.stop, err = s.Accounts.FollowEvents(s.By); err != nil {
		return err
	}
	return nil
}

// Run sends events until the reader is gone or too slow, or the stream is ended.
func (s *followedEvents) Run() error {
	if s.Method == http.MethodHead {
		return nil
	}
	s.Out.WriteString(server.RetryStream)
	if s.reset {
		s.writeReset()
	}
	s.writePlace()
	poll, comment := time.NewTicker(eventStreamPoll), time.NewTicker(server.StreamComment)
	defer poll.Stop()
	defer comment.Stop()
	for s.send() {
		select {
		case <-s.Context().Done():
			return nil
		case <-s.news:
		case <-poll.C:
		case <-comment.C:
			s.Out.WriteString(":\n")
			s.writePlace()
		}
	}
	return nil
}

// writeReset tells the reader that it may have missed events.
func (s *followedEvents) writeReset() {
	s.Out.WriteString("event: reset\nid: " + strconv.FormatInt(s.query.After, 10) + "\ndata: {}\n\n")
}

// writePlace reports the last examined position to the reader, even if the filter matched no event.
func (s *followedEvents) writePlace() {
	s.Out.WriteString("id: " + strconv.FormatInt(s.query.After, 10) + "\n\n")
}

// send sends the events that the reader does not know yet, and reports whether the stream continues.
func (s *followedEvents) send() (goOn bool) {
	for isBehind := false; ; isBehind = true {
		hasMore, ok := s.read(isBehind)
		if !ok || s.Flush() != nil {
			return false
		}
		if !hasMore {
			return true
		}
	}
}

// read collects the next events. isBehind means that the last part was not all that there is: then it waits for its
// turn as other requests do, because the streams of one caller could read a long trail as fast as the database can. If
// its turn does not come, the stream continues at its next poll.
func (s *followedEvents) read(isBehind bool) (hasMore, goOn bool) {
	if isBehind {
		if s.API.CatchingUp.Enter(s.Context(), s.By) != nil {
			return false, true
		}
		defer s.API.CatchingUp.Leave(s.By)
	}
	part, err := s.Accounts.EventFeed(s.Context(), s.Current(), s.query)
	if err != nil {
		return false, s.survives(err)
	}
	switch {
	case part.Last < s.query.After: // the server was restored from a backup
		s.query.After = part.Last
		s.writeReset()
	case s.query.After > 0 && part.First > s.query.After+1: // retention removed what the reader did not read
		s.query.After = part.First - 1
		s.writeReset()
	}
	for i := range part.Items {
		s.Out.WriteString("id: " + strconv.FormatInt(part.Items[i].Seq, 10) + "\ndata: ")
		if err := server.Encode(&s.Out, toEvent(&part.Items[i])); err != nil { // which ends the line
			return false, false
		}
		s.Out.WriteString("\n")
	}
	s.query.After = max(s.query.After, part.Last)
	return part.More, true
}

// survives reports whether the stream continues after an error: an outage does not end it, a refusal does.
func (s *followedEvents) survives(err error) bool {
	if !server.IsOutage(err) {
		return false
	}
	if s.Context().Err() == nil {
		s.API.Log.WarnContext(s.Context(), "a stream of events could not be continued; it is tried again",
			"request_id", s.Observation.ID, "error", err)
	}
	return true
}
