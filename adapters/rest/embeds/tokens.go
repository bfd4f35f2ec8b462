package embeds

import (
	"encoding/json"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/page"
)

func (a *handlers) embedTokenOperations() []server.Operation {
	const path = "/api/chat-templates/{template_id}/embed-tokens"
	return []server.Operation{
		server.Get(path, server.Query(listEmbedTokens)),
		server.Post(path, server.Command(a.createEmbedToken)),
		server.Get(path+"/{token_id}", server.Query(getEmbedToken)),
		server.Patch(path+"/{token_id}", server.Command(updateEmbedToken)),
		server.Delete(path+"/{token_id}", server.Command(deleteEmbedToken)),
		server.Post(path+"/{token_id}/rotate", server.Command(a.rotateEmbedToken)),
		server.Get(path+"/{token_id}/usage", server.Query(getEmbedTokenUsage)),
		server.Post("/api/chat-templates/{template_id}/preview", server.Query(a.previewChat)),
		server.Post(visitPaths+"sessions/verify", server.Query(verifyEmbedSession)),
	}
}

func embedTokenID(r *server.Call) embed.TokenID {
	return server.PathID[embed.TokenID](r, "token_id", embed.TokenPrefix)
}

func listEmbedTokens(r *server.Call) (server.Reply, error) {
	token := func(t *embed.Token) openapi.EmbedToken { return toEmbedToken(t, r.By.At) }
	return server.List(r, token, func(q page.Query) (embed.TokenPage, error) {
		return r.Embeds.List(r.Context(), r.By, pathChat(r), q)
	})
}

func (a *handlers) createEmbedToken(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.EmbedTokenCreate](r)
	if err != nil {
		return server.Reply{}, err
	}
	c := embed.Changes{
		Name:          &in.Name,
		Origins:       &in.AllowedOrigins,
		AllowNoOrigin: &in.AllowNoOrigin,
		Enabled:       in.Enabled,
		ExpiresAt:     (*time.Time)(convert.OrZero(in.ExpiresAt)),
		RepliesPerDay: in.RepliesPerDay,
		RequireSigned: &in.RequireSignedVisitors,
	}
	if in.Theme != nil {
		c.Theme = new(convert.ToTheme(in.Theme))
	}
	c.SessionTTL, c.PerMinute = convert.Seconds(in.SessionTTLSeconds), perMinute(in.RateLimit)
	t, token, err := r.Embeds.Create(r.Context(), r.By, pathChat(r), c)
	if err != nil {
		return server.Reply{}, err
	}
	out := server.Created(
		"/api/chat-templates/"+string(t.Template)+"/embed-tokens/"+string(t.ID), a.embedTokenCreated(r, t, token),
	).WithRevision(t.Revision)
	out.Reveals = string(t.ID)
	return out, nil
}

func getEmbedToken(r *server.Call) (server.Reply, error) {
	t, err := r.Embeds.Get(r.Context(), r.By, pathChat(r), embedTokenID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toEmbedToken(t, r.By.At)).WithRevision(t.Revision), nil
}

func updateEmbedToken(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.EmbedTokenPatch](r)
	if err != nil {
		return server.Reply{}, err
	}
	c := embed.Changes{
		Name:          in.Name,
		Origins:       in.AllowedOrigins,
		AllowNoOrigin: in.AllowNoOrigin,
		Enabled:       in.Enabled,
		ExpiresAt:     (*time.Time)(convert.OrZero(in.ExpiresAt)),
		RepliesPerDay: in.RepliesPerDay,
		RequireSigned: in.RequireSignedVisitors,
	}
	if t := convert.OrZero(in.Theme); t != nil {
		c.Theme = new(convert.ToTheme(t))
	}
	c.SessionTTL, c.PerMinute = convert.Seconds(in.SessionTTLSeconds), perMinute(in.RateLimit)
	t, err := r.Embeds.Change(r.Context(), r.By, pathChat(r), embedTokenID(r), r.Match, c)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toEmbedToken(t, r.By.At)).WithRevision(t.Revision), nil
}

func (a *handlers) rotateEmbedToken(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.EmbedTokenRotate](r)
	if err != nil {
		return server.Reply{}, err
	}
	t, token, err := r.Embeds.Rotate(
		r.Context(), r.By, pathChat(r), embedTokenID(r), r.Match, time.Duration(in.GraceSeconds)*time.Second,
	)
	if err != nil {
		return server.Reply{}, err
	}
	out := server.OK(a.embedTokenCreated(r, t, token)).WithRevision(t.Revision)
	out.Reveals = string(t.ID)
	return out, nil
}

func deleteEmbedToken(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Embeds.Delete(r.Context(), r.By, pathChat(r), embedTokenID(r), r.Match)
}

func verifyEmbedSession(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.EmbedSessionVerify](r)
	if err != nil {
		return server.Reply{}, err
	}
	s, version, err := r.Replies.Verify(r.Context(), r.By, in.Session)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.EmbedSessionVerified{
		ChatTemplateID: string(s.Embedding.Template.ID),
		EmbedTokenID:   string(s.Pass.Token),
		SessionID:      s.Pass.ID,
		Origin:         openapi.OrNull(string(s.Pass.Origin)),
		Visitor:        openapi.OrNull(s.Pass.Visitor),
		VisitorSigned:  s.Pass.Signed,
		ExpiresAt:      openapi.Time(s.Pass.ExpiresAt),

		VisitorAttributes: json.RawMessage(s.Pass.Attributes),
		Prompt:            toAnsweringPrompt(version),
	}), nil
}

// getEmbedTokenUsage reads the range of days; by default it is the last 30.
func getEmbedTokenUsage(r *server.Call) (server.Reply, error) {
	to := embed.DayOf(r.By.At)
	from := to - 29
	for name, day := range map[string]*embed.Day{"from": &from, "to": &to} {
		if text := r.Query.Get(name); text != "" {
			now, err := time.Parse(time.DateOnly, text)
			if err != nil {
				return server.Reply{}, embed.ErrUsageRange
			}
			*day = embed.DayOf(now)
		}
	}
	if r.Query.Has("to") && !r.Query.Has("from") {
		from = to - 29
	}
	uses, failures, err := r.Embeds.Usage(r.Context(), r.By, pathChat(r), embedTokenID(r), from, to)
	if err != nil {
		return server.Reply{}, err
	}
	out := openapi.EmbedTokenUsage{
		From: from.Time().Format(time.DateOnly), To: to.Time().Format(time.DateOnly),
		Data: convert.Slice(uses, toEmbedUse), FailuresByCode: convert.Slice(failures, toEmbedFailure),
	}
	for _, f := range failures {
		out.Failures += f.Count
	}
	for _, u := range uses {
		out.Sessions += u.Sessions
		out.Messages += u.Messages
		out.Refusals += u.Refusals
	}
	return server.OK(out), nil
}

func toEmbedFailure(f *embed.Failure) openapi.EmbedFailureCount {
	return openapi.EmbedFailureCount{Date: f.Day.Time().Format(time.DateOnly), Code: f.Code, Failures: f.Count}
}

func toEmbedUse(u *embed.Use) openapi.EmbedTokenUse {
	return openapi.EmbedTokenUse{
		Date:     u.Day.Time().Format(time.DateOnly),
		Origin:   openapi.OrNull(string(u.Origin)),
		Sessions: u.Sessions,
		Messages: u.Messages,
		Refusals: u.Refusals,
	}
}

// previewChat needs a proof of the caller's credential, because the preview's session expires with it.
func (a *handlers) previewChat(r *server.Call) (server.Reply, error) {
	proof, err := r.Proof()
	if err != nil {
		return server.Reply{}, err
	}
	s, err := r.Embeds.Preview(r.Context(), r.By, proof, pathChat(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.ChatPreview{
		URL: a.baseURL(r.Request) + "/console/w/" + string(r.By.Workspace) + "/chats/" +
			string(s.Embedding.Template.ID) +
			"/preview",
		Session:          s.Text.Reveal(),
		ExpiresAt:        openapi.Time(s.Pass.ExpiresAt),
		ExpiresInSeconds: int64(embed.PreviewLifetime.Seconds()),
		Template:         toEmbedTemplate(s),
	}), nil
}

func pathChat(r *server.Call) chat.ID { return server.PathID[chat.ID](r, "template_id", chat.Prefix) }
