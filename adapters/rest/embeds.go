package rest

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/page"
)

func (a *embedsArea) embedTokenOperations() []operation {
	const path = "/api/chat-templates/{template_id}/embed-tokens"
	return []operation{
		getOf(path, query(listEmbedTokens)),
		postOf(path, command(a.createEmbedToken)),
		getOf(path+"/{token_id}", query(getEmbedToken)),
		patchOf(path+"/{token_id}", command(updateEmbedToken)),
		deleteOf(path+"/{token_id}", command(deleteEmbedToken)),
		postOf(path+"/{token_id}/rotate", command(a.rotateEmbedToken)),
		getOf(path+"/{token_id}/usage", query(getEmbedTokenUsage)),
		postOf("/api/chat-templates/{template_id}/preview", query(a.previewChat)),
		postOf(visitPaths+"sessions/verify", query(verifyEmbedSession)),
	}
}

func embedTokenID(r *request) chat.EmbedTokenID {
	return pathID[chat.EmbedTokenID](r, "token_id", chat.EmbedTokenPrefix)
}

func listEmbedTokens(r *request) (reply, error) {
	token := func(t *chat.EmbedToken) openapi.EmbedToken { return toEmbedToken(t, r.by.At) }
	return listing(r, token, func(q page.Query) (chat.EmbedTokenPage, error) {
		return r.Embeds.List(r.Context(), r.by, pathChat(r), q)
	})
}

func (a *embedsArea) createEmbedToken(r *request) (reply, error) {
	in, err := decode[openapi.EmbedTokenCreate](r)
	if err != nil {
		return reply{}, err
	}
	c := chat.EmbedChanges{
		Name:          &in.Name,
		Origins:       &in.AllowedOrigins,
		AllowNoOrigin: &in.AllowNoOrigin,
		Enabled:       in.Enabled,
		ExpiresAt:     (*time.Time)(convert.OrZero(in.ExpiresAt)),
		RepliesPerDay: in.RepliesPerDay,
	}
	if in.Theme != nil {
		c.Theme = new(convert.ToTheme(in.Theme))
	}
	c.SessionTTL, c.PerMinute = convert.Seconds(in.SessionTTLSeconds), perMinute(in.RateLimit)
	t, made, err := r.Embeds.Create(r.Context(), r.by, pathChat(r), c)
	if err != nil {
		return reply{}, err
	}
	out := created(
		"/api/chat-templates/"+string(t.Template)+"/embed-tokens/"+string(t.ID), a.embedTokenCreated(r, t, made),
	).withRevision(t.Revision)
	out.reveals = string(t.ID)
	return out, nil
}

func getEmbedToken(r *request) (reply, error) {
	t, err := r.Embeds.Get(r.Context(), r.by, pathChat(r), embedTokenID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toEmbedToken(t, r.by.At)).withRevision(t.Revision), nil
}

func updateEmbedToken(r *request) (reply, error) {
	in, err := decode[openapi.EmbedTokenPatch](r)
	if err != nil {
		return reply{}, err
	}
	c := chat.EmbedChanges{
		Name:          in.Name,
		Origins:       in.AllowedOrigins,
		AllowNoOrigin: in.AllowNoOrigin,
		Enabled:       in.Enabled,
		ExpiresAt:     (*time.Time)(convert.OrZero(in.ExpiresAt)),
		RepliesPerDay: in.RepliesPerDay,
	}
	if t := convert.OrZero(in.Theme); t != nil {
		c.Theme = new(convert.ToTheme(t))
	}
	c.SessionTTL, c.PerMinute = convert.Seconds(in.SessionTTLSeconds), perMinute(in.RateLimit)
	t, err := r.Embeds.Change(r.Context(), r.by, pathChat(r), embedTokenID(r), r.match, c)
	if err != nil {
		return reply{}, err
	}
	return ok(toEmbedToken(t, r.by.At)).withRevision(t.Revision), nil
}

func (a *embedsArea) rotateEmbedToken(r *request) (reply, error) {
	in, err := decode[openapi.EmbedTokenRotate](r)
	if err != nil {
		return reply{}, err
	}
	t, made, err := r.Embeds.Rotate(
		r.Context(), r.by, pathChat(r), embedTokenID(r), r.match, time.Duration(in.GraceSeconds)*time.Second,
	)
	if err != nil {
		return reply{}, err
	}
	out := ok(a.embedTokenCreated(r, t, made)).withRevision(t.Revision)
	out.reveals = string(t.ID)
	return out, nil
}

func deleteEmbedToken(r *request) (reply, error) {
	return noContent, r.Embeds.Delete(r.Context(), r.by, pathChat(r), embedTokenID(r), r.match)
}

func verifyEmbedSession(r *request) (reply, error) {
	in, err := decode[openapi.EmbedSessionVerify](r)
	if err != nil {
		return reply{}, err
	}
	s, err := r.Embeds.Verify(r.Context(), r.by, in.Session)
	if err != nil {
		return reply{}, err
	}
	return ok(openapi.EmbedSessionVerified{
		ChatTemplateID: string(s.Embedding.Template.ID),
		EmbedTokenID:   string(s.Pass.Token),
		Origin:         openapi.OrNull(string(s.Pass.Origin)),
		Visitor:        openapi.OrNull(s.Pass.Visitor),
		VisitorSigned:  s.Pass.Signed,
		ExpiresAt:      openapi.Time(s.Pass.ExpiresAt),
	}), nil
}

// getEmbedTokenUsage reads the range of days; by default it is the last 30.
func getEmbedTokenUsage(r *request) (reply, error) {
	to := chat.DayOf(r.by.At)
	from := to - 29
	for name, day := range map[string]*chat.Day{"from": &from, "to": &to} {
		if text := r.query.Get(name); text != "" {
			at, err := time.Parse(time.DateOnly, text)
			if err != nil {
				return reply{}, chat.ErrUsageRange
			}
			*day = chat.DayOf(at)
		}
	}
	if r.query.Has("to") && !r.query.Has("from") {
		from = to - 29
	}
	uses, err := r.Embeds.Usage(r.Context(), r.by, pathChat(r), embedTokenID(r), from, to)
	if err != nil {
		return reply{}, err
	}
	out := openapi.EmbedTokenUsage{
		From: from.Time().Format(time.DateOnly), To: to.Time().Format(time.DateOnly), Data: convert.Slice(uses, toEmbedUse),
	}
	for _, u := range uses {
		out.Sessions += u.Sessions
		out.Messages += u.Messages
		out.Refusals += u.Refusals
	}
	return ok(out), nil
}

func toEmbedUse(u *chat.EmbedUse) openapi.EmbedTokenUse {
	return openapi.EmbedTokenUse{
		Date:     u.Day.Time().Format(time.DateOnly),
		Origin:   openapi.OrNull(string(u.Origin)),
		Sessions: u.Sessions,
		Messages: u.Messages,
		Refusals: u.Refusals,
	}
}

func (a *embedsArea) previewChat(r *request) (reply, error) {
	proof, err := r.proof()
	if err != nil {
		return reply{}, err
	}
	s, err := r.Embeds.Preview(r.Context(), r.by, proof, pathChat(r))
	if err != nil {
		return reply{}, err
	}
	return ok(openapi.ChatPreview{
		URL: a.home(r.Request) + "/console/w/" + string(r.by.Workspace) + "/chats/" + string(s.Embedding.Template.ID) +
			"/preview",
		Session:          s.Text.Reveal(),
		ExpiresAt:        openapi.Time(s.Pass.ExpiresAt),
		ExpiresInSeconds: int64(chat.PreviewLasts.Seconds()),
		Template:         toEmbedTemplate(s),
	}), nil
}

func pathChat(r *request) chat.ID { return pathID[chat.ID](r, "template_id", chat.Prefix) }
