package embeds

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/embeds"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

// embedPiece and embedFailure are the data of events.
type (
	embedPiece struct {
		Text string `json:"text"`
	}
	embedDone struct {
		Answer       string               `json:"answer,omitempty"`
		Conversation string               `json:"conversation_id"`
		Prompt       *openapi.EmbedPrompt `json:"prompt,omitempty"`
	}
	embedFailure struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
)

// answers returns the operation that answers the messages of visitors, by a stream for each.
func (a *handlers) answers() server.Streaming {
	return server.Streaming{
		Media:    server.Always(server.EventStream),
		Visitors: &server.Visitors{Malformed: a.countMalformed, Recheck: a.recheckAnswers},
		Open:     func(s *server.Stream) server.StreamBody { return &answer{Stream: s, handlers: a} },
	}
}

// answer is the answer to one visitor message.
type answer struct {
	*server.Stream
	handlers *handlers
	asking   *embeds.Asking
	leave    func() // ends what counts as an answer
}

// Close implements server.StreamBody.
func (s *answer) Close() { s.leave() }

// Open admits the message.
func (s *answer) Open() (err error) {
	s.leave = func() {}
	if s.asking, err = receive(s.handlers, s.Call, s.ask); err != nil {
		s.leave()
	}
	return err
}

// ask decodes a visitor's message and admits it within all limits.
func (s *answer) ask(v *visitor) (*embeds.Asking, error) {
	in, err := server.Decode[openapi.EmbedMessage](v.Call)
	if err != nil {
		return nil, err
	}
	q := embed.Question{Text: in.Text, Conversation: in.ConversationID, Page: in.PageURL,
		History: convert.Slice(in.History, func(t *openapi.EmbedTurn) embed.Turn {
			return embed.Turn{Question: t.Text, Answer: t.Answer}
		})}
	limit := func(t *embed.Token, count embed.Counted) error {
		if err := v.limit(t, count); err != nil {
			return err
		}
		visitor, address := visitOf(count, v.Request)
		leave, ok := s.handlers.answering.enter(v.Context(), t, visitor, address)
		if !ok {
			return v.API.Refuse("embed_answers", server.ErrRateLimited.WithRetryAfter(5*time.Second))
		}
		s.leave = leave
		return nil
	}
	return v.Replies.Ask(v.Context(), v.Visit, server.Bearer(v.Header.Get("Authorization")), q, limit)
}

// recheckAnswers ends the answers whose visitors are no longer admitted, and previews whose callers may no longer see
// them.
func (a *handlers) recheckAnswers(ctx context.Context, org *identity.Org, streams []*server.Stream) error {
	var visits []*server.Stream
	var passes []embed.Pass
	for _, s := range streams {
		pass := passOf(s)
		if pass.Proof == (session.Proof{}) {
			visits, passes = append(visits, s), append(passes, pass)
			continue
		}
		by, err := a.ResolveProof(ctx, s.Observation, pass.Proof, a.Now())
		if err == nil {
			err = a.Services.Embeds.MayPreview(ctx, by, pass)
		}
		if err != nil && !server.IsOutage(err) {
			s.End(err)
		}
	}
	if len(visits) == 0 {
		return nil
	}
	continues, err := a.Services.Embeds.Continue(ctx, org.ID, passes, a.Now())
	if err != nil {
		return err
	}
	for i, s := range visits {
		if !continues[i] {
			s.End(embed.ErrSessionInvalid)
		}
	}
	return nil
}

// passOf returns the session of the visitor who reads an answer.
func passOf(s *server.Stream) embed.Pass {
	return s.Body.(*answer).asking.Pass() //nolint:errcheck // answers has no other streams
}

// Run relays the answer until it ends, or the visitor is gone, reads too slowly or is no longer admitted, or the server
// stops.
func (s *answer) Run() error {
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	s.Out.WriteString(":\n\n") // tells the page that its message was accepted
	pieces, finished := make(chan embed.Piece), make(chan error, 1)
	go func() {
		finished <- s.asking.Answer(ctx, func(p embed.Piece) error {
			select {
			case pieces <- p:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	comment := time.NewTicker(server.StreamComment)
	defer comment.Stop()
	for s.Flush() == nil {
		select {
		case p := <-pieces:
			s.Event(string(p.Part), embedPiece{p.Text})
		case err := <-finished:
			s.end(err)
			return nil
		case <-comment.C:
			s.Out.WriteString(":\n\n")
		}
	}
	cancel()
	<-finished //nolint:errcheck // there is no one to tell
	return nil
}

// receipt returns with what the visitor can rate the answer; empty if they cannot.
func (s *answer) receipt() string {
	text, err := s.asking.Receipt()
	if err != nil {
		s.API.Log.WarnContext(s.Context(), "an answer cannot be rated", "request_id", s.Observation.ID, "error", err)
	}
	return text.Reveal()
}

// rateEmbedAnswer counts what a visitor says about an answer.
func rateEmbedAnswer(v *visitor) (server.Reply, error) {
	in, err := server.Decode[openapi.EmbedRating](v.Call)
	if err != nil {
		return server.Reply{}, err
	}
	return server.NoContent, v.Replies.Rate(
		v.Context(), v.Visit, server.Bearer(v.Header.Get("Authorization")), in.Answer, in.Helpful, v.limit,
	)
}

// end writes how the answer ended.
func (s *answer) end(err error) {
	if err == nil {
		s.Event("done", embedDone{s.receipt(), s.asking.Conversation(), toAnsweringPrompt(s.asking.Prompt())})
	} else if f, ok := errors.AsType[embed.ReplyFailure](err); ok {
		s.Observation.Code = string(f)
		s.API.Log.WarnContext(s.Context(), "a visitor's message was not answered", "request_id",
			s.Observation.ID, "connection_id", s.asking.Connection(), "error", err)
		s.Event("error", embedFailure{string(f), f.Detail()})
	} else {
		return // the visitor is gone, or the server stops
	}
	_ = s.Flush()
}
