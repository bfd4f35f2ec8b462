package embeds

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

// Preview opens a session in which Atrium's own page shows a template's draft. Requires the viewer role. It lasts
// embed.PreviewLifetime, and ends with by's credential, which proof identifies, and by's access to the template.
func (s *Service) Preview(
	ctx context.Context, by identity.Actor, proof session.Proof, template chat.ID,
) (*Session, error) {
	t, err := s.chats.Get(ctx, by, template)
	if err != nil {
		return nil, err
	}
	pass, err := embed.PreviewPass(by, proof, t)
	if err != nil {
		return nil, err
	}
	text, err := s.seal(by.Org, sessionPrefix, pass)
	if err != nil {
		return nil, err
	}
	return s.session(pass, embed.PreviewOf(t, by.Org), text), nil
}

// resumePreview is resume for a preview's session.
func (s *Service) resumePreview(
	ctx context.Context, v Visit, p embed.Pass, limit Limit,
) (embed.Pass, *embed.Embedding, error) {
	by, err := v.Caller(p.Proof)
	if err != nil {
		return p, nil, previewEnded(err)
	}
	t, err := s.chats.Get(ctx, by, p.Draft)
	if err != nil {
		return p, nil, previewEnded(err)
	}
	e := embed.PreviewOf(t, v.Org)
	if err := limit(&e.Token, embed.Counted{}); err != nil {
		return p, nil, err
	}
	if err := embed.MayPreview(t, by); err != nil {
		return p, nil, previewEnded(err)
	}
	if !p.IsFrom(v.Origin, v.Ours) {
		return p, nil, embed.ErrOriginNotAllowed
	}
	return p, e, nil
}

// previewEnded returns a preview's error if its opener has lost the access for a reason, if it is one.
func previewEnded(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind != fault.Unavailable {
		return embed.ErrSessionInvalid
	}
	return err
}

// MayPreview returns an error if by, who opened a preview, may no longer see it.
func (s *Service) MayPreview(ctx context.Context, by identity.Actor, p embed.Pass) error {
	t, err := s.chats.Get(ctx, by, p.Draft)
	if err != nil {
		return err
	}
	return embed.MayPreview(t, by)
}

// Continue reports, for each token session, whether its page would still be served.
func (s *Service) Continue(
	ctx context.Context, org identity.OrgID, passes []embed.Pass, now time.Time,
) ([]bool, error) {
	tokens := make([]embed.TokenID, len(passes))
	for i, p := range passes {
		tokens[i] = p.Token
	}
	slices.Sort(tokens)
	found, err := s.embeds.ByIDs(ctx, org, slices.Compact(tokens))
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(passes))
	for i, p := range passes {
		e := found[p.Token]
		out[i] = e != nil && e.Continues(p, now)
	}
	return out, nil
}
