package embeds

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/embeds"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/secret"
)

func toEmbedTemplate(s *embeds.Session) openapi.EmbedTemplate {
	t := &s.Embedding.Template
	return openapi.EmbedTemplate{
		Name:                 t.Name,
		AvatarURL:            openapi.OrNull(t.AvatarURL),
		Greeting:             t.Greeting,
		ConversationStarters: append([]string{}, t.Starters...),
		Translations:         convert.Slice(t.Languages, convert.FromTranslation),
		Tools: convert.Slice(s.Tools, func(i *chat.Item) openapi.EmbedTool {
			return openapi.EmbedTool{ID: i.ID, Name: i.Name, Description: i.Description}
		}),
		Replies:  t.Reply.Answers(),
		Feedback: t.Reply.AskFeedback,
		Theme:    convert.FromTheme(t.Theme),

		Transcripts: t.Forwarded,
	}
}

// toAnsweringPrompt returns nil for nil.
func toAnsweringPrompt(v *chat.PromptVersion) *openapi.EmbedPrompt {
	if v == nil {
		return nil
	}
	out := &openapi.EmbedPrompt{
		PromptTemplateID: string(v.Template),
		VersionID:        string(v.Version),
		VersionNumber:    v.Number,
	}
	if v.Rollout != "" {
		out.Rollout = &openapi.EmbedRollout{Label: v.Rollout, Weight: v.Weight}
	}
	return out
}

func perMinute(l *openapi.EmbedRateLimit) *int {
	if l == nil {
		return nil
	}
	return &l.PerMinute
}

func toEmbedToken(t *embed.Token, now time.Time) openapi.EmbedToken {
	origins := make([]string, len(t.Origins))
	for i, o := range t.Origins {
		origins[i] = string(o)
	}
	return openapi.EmbedToken{
		ID:                string(t.ID),
		Name:              t.Name,
		AllowedOrigins:    origins,
		AllowNoOrigin:     t.AllowNoOrigin,
		Enabled:           t.Enabled,
		ExpiresAt:         convert.OrNullTime(t.ExpiresAt),
		SessionTTLSeconds: int64(t.SessionTTL / time.Second),
		RateLimit:         openapi.EmbedRateLimit{PerMinute: t.PerMinute},
		RepliesPerDay:     t.RepliesPerDay,
		LastSignedAt:      convert.OrNullTime(t.LastSignedAt),

		RequireSignedVisitors: t.RequireSigned,

		Theme:          convert.FromTheme(t.Theme),
		Hint:           t.Hint,
		Status:         openapi.EmbedTokenStatus(t.Status(now)),
		LastUsedAt:     convert.OrNullTime(t.LastUsedAt),
		LastUsedOrigin: openapi.OrNull(string(t.LastUsedOrigin)),
		CreatedBy:      string(t.CreatedBy),
		Revision:       t.Revision,
		CreatedAt:      openapi.Time(t.CreatedAt),
		UpdatedAt:      openapi.Time(t.UpdatedAt),
	}
}

// embedTokenCreated is toEmbedToken with what only the response to the creation shows: the token and the secrets made
// from it.
func (a *handlers) embedTokenCreated(
	r *server.Call, t *embed.Token, token secret.Token,
) openapi.EmbedTokenCreated {
	s := toEmbedToken(t, r.By.At)
	return openapi.EmbedTokenCreated{
		ID:                s.ID,
		Name:              s.Name,
		AllowedOrigins:    s.AllowedOrigins,
		AllowNoOrigin:     s.AllowNoOrigin,
		Enabled:           s.Enabled,
		ExpiresAt:         s.ExpiresAt,
		SessionTTLSeconds: s.SessionTTLSeconds,
		RateLimit:         s.RateLimit,
		RepliesPerDay:     s.RepliesPerDay,
		LastSignedAt:      s.LastSignedAt,

		RequireSignedVisitors: s.RequireSignedVisitors,

		Theme:          s.Theme,
		Hint:           s.Hint,
		Status:         s.Status,
		LastUsedAt:     s.LastUsedAt,
		LastUsedOrigin: s.LastUsedOrigin,
		CreatedBy:      s.CreatedBy,
		Revision:       s.Revision,
		CreatedAt:      s.CreatedAt,
		UpdatedAt:      s.UpdatedAt,
		Token:          token.Reveal(),
		Snippets:       snippets(a.baseURL(r.Request), token.Reveal()),
		VisitorSecret:  r.Embeds.VisitorSecret(t).Reveal(),
	}
}
