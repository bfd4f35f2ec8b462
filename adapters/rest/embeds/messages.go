package embeds

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/embeds"
	"github.com/atrium-hq/atrium/domain/embed"
)

// embedDelta and embedFailure are the data of events.
type (
	embedDelta struct {
		Text string `json:"text"`
	}
	embedFailure struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
)

// sendEmbedMessage admits a message. Its answer is streamed afterwards.
func (a *handlers) sendEmbedMessage(v *visitor) (_ server.Reply, err error) {
	in, err := server.Decode[openapi.EmbedMessage](v.Call)
	if err != nil {
		return server.Reply{}, err
	}
	q := embed.Question{Text: in.Text, History: convert.Slice(in.History, func(t *openapi.EmbedTurn) embed.Turn {
		return embed.Turn{Question: t.Text, Answer: t.Answer}
	})}
	leave := func() {}
	limit := func(t *embed.Token, count embed.Counted) error {
		if err := v.limit(t, count); err != nil {
			return err
		}
		visitor, address := visitOf(count, v.Request)
		release, ok := a.answering.enter(v.Context(), t, visitor, address)
		if !ok {
			return v.API.Refuse("embed_answers", server.ErrRateLimited.WithRetryAfter(5*time.Second))
		}
		leave = release
		return nil
	}
	asking, err := v.Replies.Ask(v.Context(), v.Visit, server.Bearer(v.Header.Get("Authorization")), q, limit)
	if err != nil {
		leave()
		return server.Reply{}, err
	}
	v.Relay = func(ctx context.Context, w http.ResponseWriter) {
		defer leave()
		streamAnswer(ctx, w, v.Call, asking)
	}
	return server.Reply{}, nil
}

// streamAnswer relays an answer until it ends, or the visitor is gone, reads too slowly or is no longer admitted, or
// the server stops.
func streamAnswer(ctx context.Context, w http.ResponseWriter, r *server.Call, asking *embeds.Asking) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pass := asking.Pass()
	s := server.NewStream(r, w, cancel)
	s.Proof, s.Pass = pass.Proof, &pass
	defer r.API.TrackStream(s)()
	_ = s.Controller.SetReadDeadline(time.Time{}) // the server's deadline is for ordinary requests
	server.SetStreamHeaders(w.Header())
	w.WriteHeader(http.StatusOK)
	s.Out.WriteString(":\n\n") // tells the page that its message was accepted
	texts, finished := make(chan string), make(chan error, 1)
	go func() {
		finished <- asking.Answer(ctx, func(text string) error {
			select {
			case texts <- text:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	comment := time.NewTicker(server.StreamComment)
	defer comment.Stop()
	for s.Flush(w) == nil {
		select {
		case text := <-texts:
			s.Event("delta", embedDelta{text})
		case err := <-finished:
			endAnswer(s, w, asking, err)
			return
		case <-comment.C:
			s.Out.WriteString(":\n\n")
		}
	}
	cancel(nil)
	<-finished //nolint:errcheck // there is no one to tell
}

// endAnswer writes how an answer ended.
func endAnswer(s *server.Stream, w http.ResponseWriter, asking *embeds.Asking, err error) {
	if err == nil {
		s.Event("done", struct{}{})
	} else if f, ok := errors.AsType[embed.ReplyFailure](err); ok {
		server.Observed(s.Request).Code = string(f)
		s.API.Log.WarnContext(s.Context(), "a visitor's message was not answered", "request_id",
			server.Observed(s.Request).ID, "connection_id", asking.Connection(), "error", err)
		s.Event("error", embedFailure{string(f), f.Detail()})
	} else {
		return // the visitor is gone, or the server stops
	}
	_ = s.Flush(w)
}
