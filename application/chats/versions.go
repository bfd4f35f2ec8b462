package chats

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// Inside returns a template whose content by may see. Requires the editor role.
func (s *Service) Inside(ctx context.Context, by identity.Actor, id chat.ID) (*chat.Template, error) {
	t, err := s.chats.Get(ctx, by, id)
	if err != nil {
		return nil, err
	}
	return t, t.Allow(by, access.Editor)
}

// Versions lists a template's versions. Requires the editor role, as all reads of versions do.
func (s *Service) Versions(ctx context.Context, by identity.Actor, id chat.ID, q page.Query) (chat.VersionPage, error) {
	if _, err := s.Inside(ctx, by, id); err != nil {
		return chat.VersionPage{}, err
	}
	return s.versions.List(ctx, by.Workspace, id, q)
}

// Publications lists which template version was published when.
func (s *Service) Publications(
	ctx context.Context, by identity.Actor, id chat.ID, q page.Query,
) (chat.PublicationPage, error) {
	if _, err := s.Inside(ctx, by, id); err != nil {
		return chat.PublicationPage{}, err
	}
	return s.versions.Publications(ctx, by.Workspace, id, q)
}

// Version returns a template version. The draft has no id and no number. Returns chat.ErrVersionNotFound if ref names
// none.
func (s *Service) Version(
	ctx context.Context, by identity.Actor, id chat.ID, ref chat.VersionRef,
) (*chat.Template, *chat.Version, error) {
	t, err := s.Inside(ctx, by, id)
	if err != nil {
		return nil, nil, err
	}
	v, err := s.version(ctx, t, ref)
	return t, v, err
}

func (s *Service) version(ctx context.Context, t *chat.Template, ref chat.VersionRef) (*chat.Version, error) {
	switch {
	case ref.Draft:
		return &chat.Version{Content: t.Content}, nil
	case ref == (chat.VersionRef{}), ref.Published && t.Published == nil:
		return nil, chat.ErrVersionNotFound
	case ref.Published:
		return t.Published, nil
	}
	return s.versions.Get(ctx, t.Workspace, t.ID, ref)
}

// Compared are two template versions.
type Compared struct{ Against, Version *chat.Version }

// Compare returns two template versions.
func (s *Service) Compare(
	ctx context.Context, by identity.Actor, id chat.ID, base, ref chat.VersionRef,
) (out Compared, err error) {
	t, err := s.Inside(ctx, by, id)
	if err != nil {
		return out, err
	}
	if out.Against, err = s.version(ctx, t, base); err != nil {
		return out, err
	}
	out.Version, err = s.version(ctx, t, ref)
	return out, err
}

// Publish makes a template version the one that embedded chats and runtimes get. The draft becomes a version first,
// unless it is the same as the published one.
func (s *Service) Publish(
	ctx context.Context, by identity.Actor, id chat.ID, match revision.Match, ref chat.VersionRef, r chat.Release,
) (t *chat.Template, err error) {
	found, err := s.chats.Get(ctx, by, id)
	if err != nil {
		return nil, err
	}
	if err := found.Allow(by, access.Manager); err != nil {
		return nil, err
	}
	if !ref.Draft { // versions do not change
		if r.Version, err = s.version(ctx, found, ref); err != nil {
			return nil, err
		}
	}
	limits, err := s.deps.Quotas(ctx, by)
	if err != nil {
		return nil, err
	}
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if r.Version != nil {
			if r.PromptGone, err = promptGone(ctx, tx, by, r.Version.Prompt); err != nil {
				return err
			}
		}
		publish := func(t *chat.Template) error { return t.Publish(by, match, r) }
		if t, err = tx.Chats.Update(ctx, by, id, publish); err != nil {
			return err
		}
		var grown []quota.Kind
		if t.NewVersion != nil {
			grown = []quota.Kind{quota.StorageBytes}
		}
		return tx.CheckUsage(ctx, by, limits, grown...)
	})
	return t, err
}

// promptGone reports whether a prompt or its version no longer exists. It locks the prompt, as withPromptLocked does.
func promptGone(ctx context.Context, tx ports.Stores, by identity.Actor, p chat.Prompt) (bool, error) {
	if p == (chat.Prompt{}) {
		return false, nil
	}
	t, v, err := tx.Prompts.Lock(ctx, by, p.Template, p.Version())
	if errors.Is(err, prompt.ErrNotFound) {
		return true, nil
	}
	return err == nil && (v == nil || !t.DeletedAt.IsZero()), err
}
