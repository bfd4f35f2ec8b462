package prompts

import (
	"context"
	"slices"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// RollOut divides a label's readers among versions. It freezes those that are drafts.
func (s *Service) RollOut(
	ctx context.Context, by identity.Actor, id prompt.ID, d prompt.RolloutDraft,
) (*prompt.Rollout, error) {
	return addWithinQuotas(ctx, s, by, func(tx ports.Stores) (*prompt.Rollout, []quota.Kind, error) {
		var kinds []quota.Kind
		var others []*prompt.VersionInfo
		for i := range d.Versions {
			if i == 0 {
				continue
			}
			var member *prompt.VersionInfo
			if _, err := tx.Prompts.UpdateVersion(ctx, by, id, d.Versions[i].Ref,
				func(t *prompt.Template, v *prompt.VersionInfo) error {
					member = v
					return t.Join(by, v)
				}); err != nil {
				return nil, nil, err
			}
			pinned, err := pin(ctx, tx, by, id, member)
			if err != nil {
				return nil, nil, err
			}
			kinds = append(kinds, pinned...)
			others = append(others, member)
		}
		var first *prompt.Version
		if _, err := tx.Prompts.EditVersion(ctx, by, id, firstOf(d), func(t *prompt.Template, v *prompt.Version,
			labels prompt.Labels) error {
			first = v
			return t.RollOut(by, v, others, d, labels)
		}); err != nil {
			return nil, nil, err
		}
		pinned, err := pin(ctx, tx, by, id, &first.VersionInfo)
		if err != nil {
			return nil, nil, err
		}
		rollouts, err := tx.Prompts.Rollouts(ctx, by, id)
		return rolloutOf(rollouts, d.Label), append(kinds, pinned...), err
	})
}

// firstOf returns the version that gets a rollout's label; the zero Ref without a rollout.
func firstOf(d prompt.RolloutDraft) prompt.Ref {
	if len(d.Versions) == 0 {
		return prompt.Ref{}
	}
	return d.Versions[0].Ref
}

// Rollouts returns the rollouts that run on a template, by label.
func (s *Service) Rollouts(ctx context.Context, by identity.Actor, id prompt.ID) ([]prompt.Rollout, error) {
	if _, err := s.Get(ctx, by, id); err != nil {
		return nil, err
	}
	return s.prompts.Rollouts(ctx, by, id)
}

// chosen returns the version that a rollout of the label that ref names chooses for key; otherwise v, which has the
// label.
func (s *Service) chosen(ctx context.Context, by identity.Actor, reading *prompt.Reading, v *prompt.Version,
	ref prompt.Ref, key string) (*prompt.Version, error) {
	if key == "" || ref.Label == "" {
		return v, nil
	}
	rollouts, err := s.prompts.Rollouts(ctx, by, reading.ID)
	r := rolloutOf(rollouts, ref.Label)
	if err != nil || r == nil {
		return v, err
	}
	part := r.Choose(key)
	if part.Version != v.ID {
		_, other, err := s.prompts.GetVersion(ctx, by, reading.ID, prompt.Ref{ID: part.Version})
		if err != nil {
			return nil, err
		}
		if reading.Allow(by, ref, other) != nil {
			return v, nil // the rollout has just ended, and the version was deleted
		}
		v = other
	}
	out := *v
	out.Choice = &prompt.Choice{Rollout: r, Weight: part.Weight()}
	return &out, nil
}

// rolloutOf returns a label's rollout, or nil.
func rolloutOf(rollouts []prompt.Rollout, label string) *prompt.Rollout {
	i := slices.IndexFunc(rollouts, func(r prompt.Rollout) bool { return r.Label == label })
	if i < 0 {
		return nil
	}
	return &rollouts[i]
}
