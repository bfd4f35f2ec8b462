package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// ActivateVersion makes one template version the one that callers receive. If the activation has to wait for approvals,
// checks or a time, it returns the request that waits, and the template as it stays until then. It returns
// prompt.ErrContractBreak if the template is checked for that, the version breaks the contract of the active one, and a
// does not acknowledge it.
func (s *Service) ActivateVersion(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
	match revision.Match, a prompt.Activating) (*prompt.Template, *prompt.ActivationRequest, error) {
	out, err := addWithinQuotas(ctx, s, by, func(tx ports.Stores) (out activation, _ []quota.Kind, err error) {
		var v *prompt.VersionInfo
		out.template, err = tx.Prompts.UpdateVersion(ctx, by, id, ref,
			func(t *prompt.Template, info *prompt.VersionInfo) error {
				v = info
				if t.Waits(by, a) {
					return t.MayRequest(by, match, info, a)
				}
				return t.Activate(by, match, info, a.Expected, a.Reason)
			})
		if err == nil && out.template.Waits(by, a) {
			out, err = activateOrRequest(ctx, tx, by, out.template, v, a)
		}
		if err != nil || out.request != nil {
			return out, nil, err
		}
		kinds, err := pin(ctx, tx, by, id, v)
		if err != nil {
			return out, nil, err
		}
		return out, kinds, released(ctx, tx, by, out.template, a.Acknowledged)
	})
	return out.template, out.request, err
}

// activation is the result of ActivateVersion. request is nil if the version is active.
type activation struct {
	template *prompt.Template
	request  *prompt.ActivationRequest
}

// activateOrRequest activates v if that has to wait for nothing, and records a request otherwise. MayRequest has
// allowed it.
func activateOrRequest(ctx context.Context, tx ports.Stores, by identity.Actor, t *prompt.Template,
	v *prompt.VersionInfo, a prompt.Activating) (activation, error) {
	if t.Active.Version == v.ID {
		return activation{template: t}, nil
	}
	checks, err := tx.PromptLists.Checks(ctx, by.Workspace, t.ID, v.ID)
	if err != nil {
		return activation{}, err
	}
	plan := t.Plan(by, v, a, checks)
	if !plan.IsReady(by.At) {
		t, recorded, err := request(ctx, tx, by, t, []*prompt.VersionInfo{v}, plan)
		return activation{template: t, request: recorded}, err
	}
	t, err = tx.Prompts.UpdateVersion(ctx, by, t.ID, prompt.Ref{ID: v.ID},
		func(t *prompt.Template, v *prompt.VersionInfo) error {
			t.ActivateReady(by, v, plan)
			return nil
		})
	return activation{template: t}, err
}

// request records plan, a request of by for versions.
func request(ctx context.Context, tx ports.Stores, by identity.Actor, t *prompt.Template,
	versions []*prompt.VersionInfo, plan prompt.ActivationRequest,
) (*prompt.Template, *prompt.ActivationRequest, error) {
	if err := releasable(ctx, tx, by, t, versions, plan); err != nil {
		return nil, nil, err
	}
	open, err := tx.PromptLists.OpenRequests(ctx, by.Workspace, t.ID)
	if err != nil {
		return nil, nil, err
	}
	var recorded prompt.ActivationRequest
	t, err = tx.Prompts.Update(ctx, by, t.ID, func(t *prompt.Template) (err error) {
		recorded, err = t.Request(by, plan, open)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return t, &recorded, lookLater(ctx, tx, by, recorded)
}

// releasable returns the error because of which versions, which r, a request of by, is for, could not be released: an
// include that by cannot see, or the contract.
func releasable(ctx context.Context, tx ports.Stores, by identity.Actor, t *prompt.Template,
	versions []*prompt.VersionInfo, r prompt.ActivationRequest) error {
	for _, v := range versions {
		if err := includable(ctx, tx, by, t, v); err != nil {
			return err
		}
	}
	if r.Acknowledged || !t.IsGated(r.Label) {
		return nil
	}
	for _, part := range r.Entering() {
		if err := keepsContract(ctx, tx, by, t, r.Base, part.Version); err != nil {
			return err
		}
	}
	return nil
}

// released checks what follows from the activation and the moves of labels that t, just saved, has recorded, and
// evaluates the requests that wait. It returns prompt.ErrContractBreak if a version breaks the contract of the previous
// one; the transaction must be rolled back then. It reads the contents after the change, so that a change of a template
// that is not checked reads none.
func released(ctx context.Context, tx ports.Stores, by identity.Actor, t *prompt.Template, isAcknowledged bool) error {
	if isAcknowledged {
		return settle(ctx, tx, by, t)
	}
	for _, a := range t.Activated {
		for _, version := range t.Entering(a) {
			if err := keepsContract(ctx, tx, by, t, a.From, version); err != nil {
				return err
			}
		}
	}
	return settle(ctx, tx, by, t)
}

// keepsContract returns prompt.ErrContractBreak if t is checked for that, and the version to breaks the contract of the
// version from.
func keepsContract(
	ctx context.Context, tx ports.Stores, by identity.Actor, t *prompt.Template, from, to prompt.VersionID,
) error {
	if t.Compatibility != prompt.Backward || from == "" {
		return nil
	}
	previous, err := expandedIn(ctx, tx, by, t, from)
	if err != nil {
		return err
	}
	expanded, err := expandedIn(ctx, tx, by, t, to)
	if err != nil {
		return err
	}
	return t.KeepsContract(previous, expanded)
}

// expandedIn returns a released version of t as its readers get it.
func expandedIn(ctx context.Context, tx ports.Stores, by identity.Actor, t *prompt.Template,
	id prompt.VersionID) (*prompt.Version, error) {
	_, v, err := tx.Prompts.GetVersion(ctx, by, t.ID, prompt.Ref{ID: id})
	if err != nil || v == nil {
		return nil, err
	}
	return Expanded(ctx, tx.Prompts, by, t.Reading(), v)
}
