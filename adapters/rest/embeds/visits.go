package embeds

import (
	"errors"
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/embeds"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
)

// visitPaths is the prefix of paths that pages of other sites call.
const visitPaths = "/api/embed/"

func (a *handlers) visitOperations() []server.Operation {
	return []server.Operation{
		server.Post(visitPaths+"sessions", a.visit(openEmbedSession)),
		server.Post(visitPaths+"sessions/renew", a.visit(renewEmbedSession)),
		server.Post(visitPaths+"messages", a.answers()),
		server.Post(visitPaths+"feedback", a.visit(rateEmbedAnswer)),
		server.Get(visitPaths+"template", a.visit(getEmbedTemplate)),
		server.Get("/embed/{embed_token}", server.Page(a.embedPage)),
	}
}

func (a *handlers) visitRoutes() []server.Route {
	script := a.AssetHandler("/embed.js", embedScript)
	return []server.Route{
		server.NewRoute(http.MethodGet, "/embed.js", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin") // sites that isolate themselves load it too
			w.Header().Set("Access-Control-Allow-Origin", "*")             // which modules need
			script.ServeHTTP(w, r)
		})),
	}
}

// openEmbedSession limits guesses of tokens: a token that was valid before is remembered and passes the limit.
func openEmbedSession(v *visitor) (server.Reply, error) {
	in, err := server.Decode[openapi.EmbedSessionCreate](v.Call)
	if err != nil {
		return server.Reply{}, err
	}
	if err := v.API.LimitFailedAuth(v.ReplyHeader, server.Observed(v.Request), in.Token, v.At); err != nil {
		return server.Reply{}, err
	}
	s, err := v.Embeds.OpenSession(v.Context(), v.Visit, embeds.SessionRequest{
		Secret:  in.Token,
		Ticket:  in.Ticket,
		Visitor: in.Visitor, Signature: in.VisitorSignature, Attributes: in.VisitorAttributes,
	}, v.limit)
	if errors.Is(err, embed.ErrTokenInvalid) {
		v.API.KnownTokens.Forget(in.Token)
	}
	if err != nil {
		return server.Reply{}, err
	}
	v.API.KnownTokens.Remember(in.Token, v.At)
	if err := v.Embeds.NoteUse(v.Context(), s, v.At); err != nil {
		v.API.Log.WarnContext(
			v.Context(), "the use of an embed token was not noted", "embed_token_id", s.Pass.Token, "error", err,
		)
	}
	v.API.Services.EmbedUsage.Session(&s.Embedding.Token, s.Pass.Origin, v.At)
	return sessionOpened(v, s), nil
}

func renewEmbedSession(v *visitor) (server.Reply, error) {
	s, err := v.Embeds.RenewSession(v.Context(), v.Visit, server.Bearer(v.Header.Get("Authorization")), v.limit)
	if err != nil {
		return server.Reply{}, err
	}
	return sessionOpened(v, s), nil
}

func sessionOpened(v *visitor, s *embeds.Session) server.Reply {
	out := server.OK(openapi.EmbedSessionCreated{
		Session:          s.Text.Reveal(),
		ExpiresAt:        openapi.Time(s.Pass.ExpiresAt),
		ExpiresInSeconds: int64(s.Pass.ExpiresAt.Sub(v.At) / time.Second),
		Template:         toEmbedTemplate(s),
	})
	out.Reveals = string(s.Pass.Token)
	return out
}

func getEmbedTemplate(v *visitor) (server.Reply, error) {
	s, err := v.Embeds.Resume(v.Context(), v.Visit, server.Bearer(v.Header.Get("Authorization")), v.limit)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.EmbedSession{
		ExpiresAt:     openapi.Time(s.Pass.ExpiresAt),
		Visitor:       openapi.OrNull(s.Pass.Visitor),
		VisitorSigned: s.Pass.Signed,
		Template:      toEmbedTemplate(s),
	}), nil
}

// visitCORS responds to CORS preflights from every origin that some embed token lists, and reports whether the
// request was one. The token is not known yet; the request that follows is checked against its own.
func (a *handlers) visitCORS(w http.ResponseWriter, r *http.Request) (isDone bool) {
	w.Header().Add("Vary", "Origin")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	server.Observed(r).Route = visitPaths
	if !a.visitors.tokens.Allow(w, "preflight "+identity.AddressGroup(server.Observed(r).Address), a.Now()) {
		a.Problem(w, r, a.Refuse("embed_address_rate", server.ErrRateLimited))
		return true
	}
	isExpected, err := a.Services.Embeds.Expected(r.Context(), a.newVisit(r))
	if err != nil {
		a.Problem(w, r, err)
		return true
	}
	if isExpected {
		h := w.Header()
		allowOrigin(h, r.Header.Get("Origin"))
		h.Set("Access-Control-Allow-Methods", "GET, POST")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
		h.Set("Access-Control-Max-Age", "600")
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}
