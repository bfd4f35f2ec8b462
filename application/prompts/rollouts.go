package prompts

import (
	"context"
	"slices"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// RollOut divides a label's readers among versions. It freezes those that are drafts. If that has to wait, it returns
// the request that waits, and the rollout of the label that runs until then, which may be nil.
func (s *Service) RollOut(ctx context.Context, by identity.Actor, id prompt.ID,
	d prompt.RolloutDraft) (*prompt.Rollout, *prompt.ActivationRequest, error) {
	out, err := addWithinQuotas(ctx, s, by, func(tx ports.Stores) (out rollingOut, kinds []quota.Kind, err error) {
		if out.request, kinds, err = rollOut(ctx, tx, by, id, d); err != nil {
			return out, nil, err
		}
		rollouts, err := tx.Prompts.Rollouts(ctx, by, id)
		out.rollout = rolloutOf(rollouts, d.Label)
		return out, kinds, err
	})
	return out.rollout, out.request, err
}

// rollingOut is the result of RollOut.
type rollingOut struct {
	rollout *prompt.Rollout
	request *prompt.ActivationRequest
}

// rollOut divides a label's readers as d asks, or returns the request that waits for it.
func rollOut(ctx context.Context, tx ports.Stores, by identity.Actor, id prompt.ID,
	d prompt.RolloutDraft) (*prompt.ActivationRequest, []quota.Kind, error) {
	others, kinds, err := joined(ctx, tx, by, id, d)
	if err != nil {
		return nil, nil, err
	}
	var out labelling
	out.template, err = tx.Prompts.EditVersion(ctx, by, id, firstOf(d),
		func(t *prompt.Template, v *prompt.Version, labels prompt.Labels) (err error) {
			out.version = v
			if t.LabelWaits(by, d.LabelMove) {
				out.versions = append([]*prompt.VersionInfo{infoOf(v)}, others...)
				out.request, err = t.PlanLabel(by, out.versions, d, labels)
				return err
			}
			return t.RollOut(by, v, others, d, labels)
		})
	if err != nil {
		return nil, nil, err
	}
	if out.request != nil {
		out, kinds, err = labelOrRequest(ctx, tx, by, out)
		return out.request, kinds, err
	}
	if err := guarded(ctx, tx, by, out.template); err != nil {
		return nil, nil, err
	}
	pinned, err := pin(ctx, tx, by, id, &out.version.VersionInfo)
	if err != nil {
		return nil, nil, err
	}
	return nil, append(kinds, pinned...), released(ctx, tx, by, out.template, d.Acknowledged)
}

// joined returns a rollout's versions beside the first. They join it, unless it may have to wait.
func joined(ctx context.Context, tx ports.Stores, by identity.Actor, id prompt.ID,
	d prompt.RolloutDraft) (others []*prompt.VersionInfo, kinds []quota.Kind, err error) {
	for _, other := range d.Versions[min(1, len(d.Versions)):] {
		var member *prompt.VersionInfo
		t, err := tx.Prompts.UpdateVersion(ctx, by, id, other.Ref,
			func(t *prompt.Template, v *prompt.VersionInfo) error {
				if member = v; t.LabelWaits(by, d.LabelMove) {
					return nil
				}
				return t.Join(by, v, d.LabelMove)
			})
		if err != nil {
			return nil, nil, err
		}
		if others = append(others, member); t.LabelWaits(by, d.LabelMove) {
			continue
		}
		pinned, err := pin(ctx, tx, by, id, member)
		if err != nil {
			return nil, nil, err
		}
		kinds = append(kinds, pinned...)
	}
	return others, kinds, nil
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

// Chosen returns the version that a rollout of the label that ref names chooses for key; otherwise v, which has the
// label.
func Chosen(ctx context.Context, store ports.PromptVersions, by identity.Actor, reading *prompt.Reading,
	v *prompt.Version, ref prompt.Ref, key string) (*prompt.Version, error) {
	if key == "" || ref.Label == "" {
		return v, nil
	}
	rollouts, err := store.Rollouts(ctx, by, reading.ID)
	r := rolloutOf(rollouts, ref.Label)
	if err != nil || r == nil {
		return v, err
	}
	part := r.Choose(key)
	if part.Version != v.ID {
		_, other, err := store.GetVersion(ctx, by, reading.ID, prompt.Ref{ID: part.Version})
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
