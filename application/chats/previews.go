package chats

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Preview opens a session in which Atrium's own page shows the draft of a template. Requires the viewer role. It lasts
// chat.PreviewLasts, even if by's role changes in the meantime.
func (s *Embeds) Preview(ctx context.Context, by identity.Actor, of chat.ID) (*Session, error) {
	t, err := s.chats.Get(ctx, by, of)
	if err != nil {
		return nil, err
	}
	if err := t.Allow(by, access.Viewer); err != nil {
		return nil, err
	}
	pass := chat.PreviewPass(t, by.At)
	text, err := s.seal(by.Org, sessionPrefix, pass)
	if err != nil {
		return nil, err
	}
	return s.session(pass, chat.PreviewOf(t, by.Org), text), nil
}

// resumePreview is resume for the session of a preview.
func (s *Embeds) resumePreview(
	ctx context.Context, v Visit, p chat.EmbedPass, limit Limit,
) (chat.EmbedPass, *chat.Embedding, error) {
	t, err := s.chats.Get(ctx, previewer(v.Org, p, v.At), p.Draft)
	if err != nil {
		return p, nil, err
	}
	e := chat.PreviewOf(t, v.Org)
	if err := limit(&e.Token, chat.Counted{}); err != nil {
		return p, nil, err
	}
	switch {
	case !t.DeletedAt.IsZero():
		return p, nil, chat.ErrEmbedSessionInvalid
	case !p.IsFrom(v.Origin, v.Ours):
		return p, nil, chat.ErrOriginNotAllowed
	}
	return p, e, nil
}

// previewer is the actor that reads the template of a preview; the person who opened it could see it.
func previewer(org identity.OrgID, p chat.EmbedPass, at time.Time) identity.Actor {
	return identity.System(org, p.Workspace, "chat preview", at)
}
