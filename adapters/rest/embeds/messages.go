package embeds

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/domain/chat"
)

// How many replies may be running at the same time.
const (
	answersPerVisitor   = 3    // of one token
	answersPerAddress   = 18   // of one token, for its visitors that are not signed
	answersPerToken     = 100  // on one node, as those below
	answersPerWorkspace = 250  // which can have any number of tokens, and an endpoint that never ends a reply
	answersPerOrg       = 750  // since one person can have 20 workspaces
	answersPerNode      = 1000 // a reply needs some 100 KiB
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

// answerGates limit the concurrent replies. No one waits for a slot: a reply takes too long.
type answerGates struct{ visitors, addresses, tokens, workspaces, orgs, node *server.Gate }

func newAnswerGates() answerGates {
	return answerGates{
		visitors:   server.NewGate(answersPerVisitor),
		addresses:  server.NewGate(answersPerAddress),
		tokens:     server.NewGate(answersPerToken),
		workspaces: server.NewGate(answersPerWorkspace),
		orgs:       server.NewGate(answersPerOrg),
		node:       server.NewGate(answersPerNode),
	}
}

// enter reserves a slot for a reply, until leave is called. ok is false if there is none. The visitor or the address
// can be empty.
func (g answerGates) enter(
	ctx context.Context, of *chat.EmbedToken, visitor, address string,
) (leave func(), ok bool) {
	type place struct {
		*server.Gate
		key string
	}
	token := string(of.ID)
	places := []place{
		{g.node, "node"}, {g.orgs, string(of.Org)}, {g.workspaces, string(of.Workspace)}, {g.tokens, token},
	}
	if visitor != "" {
		places = append(places, place{g.visitors, token + " " + visitor})
	}
	if address != "" {
		places = append(places, place{g.addresses, token + " " + address})
	}
	entered := 0
	leave = func() {
		for _, p := range places[:entered] {
			p.Leave(p.key)
		}
	}
	for ; entered < len(places); entered++ {
		if p := places[entered]; !p.Enter(ctx, p.key, 0) {
			leave()
			return nil, false
		}
	}
	return leave, true
}

// sendEmbedMessage admits a message. Its answer is streamed afterwards.
func (a *handlers) sendEmbedMessage(v *visitor) (_ server.Reply, err error) {
	in, err := server.Decode[openapi.EmbedMessage](v.Call)
	if err != nil {
		return server.Reply{}, err
	}
	q := chat.Question{Text: in.Text, History: convert.Slice(in.History, func(t *openapi.EmbedTurn) chat.Turn {
		return chat.Turn{Question: t.Text, Answer: t.Answer}
	})}
	leave := func() {}
	limit := func(t *chat.EmbedToken, of chat.Counted) error {
		if err := v.limit(t, of); err != nil {
			return err
		}
		visitor, address := visitOf(of, v.Request)
		freed, ok := a.answering.enter(v.Context(), t, visitor, address)
		if !ok {
			return v.API.Refuse("embed_answers", server.ErrRateLimited.WithRetryAfter(5*time.Second))
		}
		leave = freed
		return nil
	}
	asking, err := v.Replies.Ask(v.Context(), v.Visit, server.Bearer(v.Header.Get("Authorization")), q, limit)
	if err != nil {
		leave()
		return server.Reply{}, err
	}
	v.stream = func(ctx context.Context, w http.ResponseWriter) {
		defer leave()
		streamAnswer(ctx, w, v.Call, asking)
	}
	return server.Reply{}, nil
}

// streamAnswer relays an answer until it ends, or the visitor is gone, reads too slowly or is no longer admitted, or
// the server stops.
func streamAnswer(ctx context.Context, w http.ResponseWriter, r *server.Call, asking *chats.Asking) {
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
	texts, ended := make(chan string), make(chan error, 1)
	go func() {
		ended <- asking.Answer(ctx, func(text string) error {
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
		case err := <-ended:
			endAnswer(s, w, asking, err)
			return
		case <-comment.C:
			s.Out.WriteString(":\n\n")
		}
	}
	cancel(nil)
	<-ended //nolint:errcheck // there is no one to tell
}

// endAnswer writes how an answer ended.
func endAnswer(s *server.Stream, w http.ResponseWriter, asking *chats.Asking, err error) {
	if err == nil {
		s.Event("done", struct{}{})
	} else if f, ok := errors.AsType[chat.ReplyFailure](err); ok {
		server.Observed(s.Request).Code = string(f)
		s.API.Log.WarnContext(s.Context(), "a visitor's message was not answered", "request_id",
			server.Observed(s.Request).ID, "connection_id", asking.Connection(), "error", err)
		s.Event("error", embedFailure{string(f), f.Detail()})
	} else {
		return // the visitor is gone, or the server stops
	}
	_ = s.Flush(w)
}
