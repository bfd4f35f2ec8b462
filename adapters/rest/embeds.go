package rest

import (
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/secret"
)

func (a *API) embedTokenOperations() []operation {
	const path = "/api/chat-templates/{template_id}/embed-tokens"
	return []operation{
		{http.MethodGet, path, query(a.listEmbedTokens)},
		{http.MethodPost, path, command(a.createEmbedToken)},
		{http.MethodGet, path + "/{token_id}", query(a.getEmbedToken)},
		{http.MethodPatch, path + "/{token_id}", command(a.updateEmbedToken)},
		{http.MethodDelete, path + "/{token_id}", command(a.deleteEmbedToken)},
		{http.MethodPost, path + "/{token_id}/rotate", command(a.rotateEmbedToken)},
	}
}

func embedTokenID(r *request) chat.EmbedTokenID {
	return pathID[chat.EmbedTokenID](r, "token_id", chat.EmbedTokenPrefix)
}

func (a *API) listEmbedTokens(r *request) (reply, error) {
	q, err := r.page()
	if err != nil {
		return reply{}, err
	}
	found, err := r.Embeds.List(r.Context(), r.by, chatID(r), q)
	if err != nil {
		return reply{}, err
	}
	next, err := r.next(found.Next)
	return ok(openapi.EmbedTokenList{Data: each(found.Items, func(t *chat.EmbedToken) openapi.EmbedToken { return toEmbedToken(t, r.by.At) }), NextCursor: next}), err
}

func (a *API) createEmbedToken(r *request) (reply, error) {
	in, err := decode[openapi.EmbedTokenCreate](r)
	if err != nil {
		return reply{}, err
	}
	c := chat.EmbedChanges{Name: &in.Name, Origins: &in.AllowedOrigins, AllowNoOrigin: &in.AllowNoOrigin, Enabled: in.Enabled, ExpiresAt: (*time.Time)(orZero(in.ExpiresAt))}
	c.SessionTTL, c.PerMinute = seconds(in.SessionTTLSeconds), perMinute(in.RateLimit)
	t, made, err := r.Embeds.Create(r.Context(), r.by, chatID(r), c)
	if err != nil {
		return reply{}, err
	}
	out := created("/api/chat-templates/"+string(t.Template)+"/embed-tokens/"+string(t.ID), toEmbedTokenCreated(t, made, r.by.At)).at(t.Revision)
	out.reveals = string(t.ID)
	return out, nil
}

func (a *API) getEmbedToken(r *request) (reply, error) {
	t, err := r.Embeds.Get(r.Context(), r.by, chatID(r), embedTokenID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toEmbedToken(t, r.by.At)).at(t.Revision), nil
}

func (a *API) updateEmbedToken(r *request) (reply, error) {
	in, err := decode[openapi.EmbedTokenPatch](r)
	if err != nil {
		return reply{}, err
	}
	c := chat.EmbedChanges{Name: in.Name, Origins: in.AllowedOrigins, AllowNoOrigin: in.AllowNoOrigin, Enabled: in.Enabled, ExpiresAt: (*time.Time)(orZero(in.ExpiresAt))}
	c.SessionTTL, c.PerMinute = seconds(in.SessionTTLSeconds), perMinute(in.RateLimit)
	t, err := r.Embeds.Change(r.Context(), r.by, chatID(r), embedTokenID(r), r.match, c)
	if err != nil {
		return reply{}, err
	}
	return ok(toEmbedToken(t, r.by.At)).at(t.Revision), nil
}

func (a *API) rotateEmbedToken(r *request) (reply, error) {
	in, err := decode[openapi.EmbedTokenRotate](r)
	if err != nil {
		return reply{}, err
	}
	t, made, err := r.Embeds.Rotate(r.Context(), r.by, chatID(r), embedTokenID(r), r.match, time.Duration(in.GraceSeconds)*time.Second)
	if err != nil {
		return reply{}, err
	}
	out := ok(toEmbedTokenCreated(t, made, r.by.At)).at(t.Revision)
	out.reveals = string(t.ID)
	return out, nil
}

func (a *API) deleteEmbedToken(r *request) (reply, error) {
	return noContent, r.Embeds.Delete(r.Context(), r.by, chatID(r), embedTokenID(r), r.match)
}

func seconds(n *int64) *time.Duration {
	if n == nil {
		return nil
	}
	d := time.Duration(*n) * time.Second
	return &d
}

func perMinute(l *openapi.EmbedRateLimit) *int {
	if l == nil {
		return nil
	}
	return &l.PerMinute
}

func toEmbedToken(t *chat.EmbedToken, now time.Time) openapi.EmbedToken {
	origins := make([]string, len(t.Origins))
	for i, o := range t.Origins {
		origins[i] = string(o)
	}
	return openapi.EmbedToken{
		ID: string(t.ID), Name: t.Name, AllowedOrigins: origins, AllowNoOrigin: t.AllowNoOrigin, Enabled: t.Enabled,
		ExpiresAt: openapi.OrNull(openapi.Time(t.ExpiresAt)), SessionTTLSeconds: int64(t.SessionTTL / time.Second),
		RateLimit: openapi.EmbedRateLimit{PerMinute: t.PerMinute}, Hint: t.Hint, Status: openapi.EmbedTokenStatus(t.Status(now)),
		LastUsedAt: openapi.OrNull(openapi.Time(t.LastUsedAt)), LastUsedOrigin: openapi.OrNull(string(t.LastUsedOrigin)),
		CreatedBy: string(t.CreatedBy), Revision: t.Revision, CreatedAt: openapi.Time(t.CreatedAt), UpdatedAt: openapi.Time(t.UpdatedAt),
	}
}

func toEmbedTokenCreated(t *chat.EmbedToken, made secret.Token, now time.Time) openapi.EmbedTokenCreated {
	s := toEmbedToken(t, now)
	return openapi.EmbedTokenCreated{
		ID: s.ID, Name: s.Name, AllowedOrigins: s.AllowedOrigins, AllowNoOrigin: s.AllowNoOrigin, Enabled: s.Enabled, ExpiresAt: s.ExpiresAt,
		SessionTTLSeconds: s.SessionTTLSeconds, RateLimit: s.RateLimit, Hint: s.Hint, Status: s.Status,
		LastUsedAt: s.LastUsedAt, LastUsedOrigin: s.LastUsedOrigin, CreatedBy: s.CreatedBy,
		Revision: s.Revision, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, Token: made.Reveal(),
	}
}
