package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// MoveLabel gives a label to the version that to names. Another version that has it loses it.
func (s *Service) MoveLabel(ctx context.Context, by identity.Actor, id prompt.ID, target prompt.Ref,
	m prompt.LabelMove) (*prompt.Reading, *prompt.Version, error) {
	var version *prompt.Version
	reading, err := addWithinQuotas(ctx, s, by, func(tx ports.Stores) (*prompt.Reading, []quota.Kind, error) {
		t, err := tx.Prompts.EditVersion(ctx, by, id, target,
			func(t *prompt.Template, v *prompt.Version, labels prompt.Labels) error {
				version = v
				return t.MoveLabel(by, v, m, labels)
			})
		if err != nil {
			return nil, nil, err
		}
		kinds, err := pin(ctx, tx, by, id, &version.VersionInfo)
		return t.Reading(), kinds, err
	})
	if err != nil {
		return nil, nil, err
	}
	return reading, version, nil
}

// RemoveLabel removes a label that no chat template and no other prompt uses.
func (s *Service) RemoveLabel(ctx context.Context, by identity.Actor, id prompt.ID, match revision.Match,
	m prompt.LabelMove) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if _, err := tx.Prompts.EditVersion(ctx, by, id, prompt.Ref{Label: m.Label},
			func(t *prompt.Template, v *prompt.Version, labels prompt.Labels) error {
				return t.RemoveLabel(by, match, v, m, labels)
			}); err != nil {
			return err
		}
		return unused(ctx, tx, by, id, []string{m.Label})
	})
}
