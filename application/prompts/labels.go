package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// MoveLabel gives a label to the version that target names. Another version that has it loses it. If the move has to
// wait, it returns the request that waits, and the version as it stays until then.
func (s *Service) MoveLabel(ctx context.Context, by identity.Actor, id prompt.ID, target prompt.Ref,
	m prompt.LabelMove) (*prompt.Reading, *prompt.Version, *prompt.ActivationRequest, error) {
	d := prompt.RolloutDraft{LabelMove: m, Versions: []prompt.WeightedRef{{Ref: target, Weight: 100}}}
	out, err := addWithinQuotas(ctx, s, by, func(tx ports.Stores) (labelling, []quota.Kind, error) {
		var out labelling
		t, err := tx.Prompts.EditVersion(ctx, by, id, target,
			func(t *prompt.Template, v *prompt.Version, labels prompt.Labels) (err error) {
				out.version = v
				if t.LabelWaits(by, m) {
					out.versions = []*prompt.VersionInfo{infoOf(v)}
					out.request, err = t.PlanLabel(by, out.versions, d, labels)
					return err
				}
				return t.MoveLabel(by, v, m, labels)
			})
		if err != nil {
			return out, nil, err
		}
		if out.template = t; out.request != nil {
			return labelOrRequest(ctx, tx, by, out)
		}
		kinds, err := pin(ctx, tx, by, id, &out.version.VersionInfo)
		if err != nil {
			return out, nil, err
		}
		return out, kinds, released(ctx, tx, by, t, m.Acknowledged)
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return out.template.Reading(), out.version, out.request, nil
}

// RemoveLabel removes a label that no chat template and no other prompt uses.
func (s *Service) RemoveLabel(ctx context.Context, by identity.Actor, id prompt.ID, match revision.Match,
	m prompt.LabelMove) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		t, err := tx.Prompts.EditVersion(ctx, by, id, prompt.Ref{Label: m.Label},
			func(t *prompt.Template, v *prompt.Version, labels prompt.Labels) error {
				return t.RemoveLabel(by, match, v, m, labels)
			})
		if err != nil {
			return err
		}
		if err := settle(ctx, tx, by, t); err != nil {
			return err
		}
		return unused(ctx, tx, by, id, []string{m.Label})
	})
}

// labelling is a label's move.
type labelling struct {
	template *prompt.Template
	version  *prompt.Version           // that has the label or is to get it
	versions []*prompt.VersionInfo     // of a request: all among which the readers are divided
	request  *prompt.ActivationRequest // that waits, or is planned; nil if the label has moved
}

// infoOf returns the VersionInfo of v; nil for nil.
func infoOf(v *prompt.Version) *prompt.VersionInfo {
	if v == nil {
		return nil
	}
	return &v.VersionInfo
}

// labelOrRequest moves the label of out's planned request if that has to wait for nothing, and records the request
// otherwise.
func labelOrRequest(ctx context.Context, tx ports.Stores, by identity.Actor, out labelling) (
	labelling, []quota.Kind, error) {
	plan := *out.request
	checks, err := checksOf(ctx, tx, by, plan)
	if err != nil {
		return out, nil, err
	}
	if plan = out.template.Seen(plan, by, checks); !plan.IsReady(by.At) {
		out.template, out.request, err = request(ctx, tx, by, out.template, out.versions, plan)
		return out, nil, err
	}
	plan.ID = "" // it was never recorded
	out, kinds, err := fulfilLabel(ctx, tx, by, plan)
	if err != nil {
		return out, nil, err
	}
	return out, kinds, released(ctx, tx, by, out.template, plan.Acknowledged)
}

// fulfilLabel moves a label as r, a request of author that is ready, asks for.
func fulfilLabel(
	ctx context.Context, tx ports.Stores, author identity.Actor, r prompt.ActivationRequest,
) (out labelling, kinds []quota.Kind, err error) {
	versions := r.Versions()
	others := make([]*prompt.VersionInfo, len(versions)-1)
	for i, version := range versions[1:] {
		if _, others[i], err = tx.Prompts.Lock(ctx, author, r.Template, prompt.Ref{ID: version}); err != nil {
			return out, nil, err
		}
	}
	out.template, err = tx.Prompts.EditVersion(ctx, author, r.Template, prompt.Ref{ID: versions[0]},
		func(t *prompt.Template, v *prompt.Version, labels prompt.Labels) error {
			out.version = v
			return t.FulfilLabel(author, v, others, r, labels)
		})
	if err != nil {
		return out, nil, err
	}
	if err := guarded(ctx, tx, author, out.template); err != nil {
		return out, nil, err
	}
	if kinds, err = pin(ctx, tx, author, r.Template, &out.version.VersionInfo); err != nil {
		return out, nil, err
	}
	for _, other := range others {
		if _, err = tx.Prompts.UpdateVersion(ctx, author, r.Template, prompt.Ref{ID: other.ID},
			func(t *prompt.Template, v *prompt.VersionInfo) error { return t.JoinFor(author, v, r) }); err != nil {
			return out, nil, err
		}
		pinned, err := pin(ctx, tx, author, r.Template, other)
		if err != nil {
			return out, nil, err
		}
		kinds = append(kinds, pinned...)
	}
	return out, kinds, nil
}

// checksOf returns the checks of the versions of r.
func checksOf(
	ctx context.Context, tx ports.Stores, by identity.Actor, r prompt.ActivationRequest,
) (checks []prompt.Check, err error) {
	for _, version := range r.Versions() {
		reported, err := tx.PromptLists.Checks(ctx, by.Workspace, r.Template, version)
		if err != nil {
			return nil, err
		}
		checks = append(checks, reported...)
	}
	return checks, nil
}
