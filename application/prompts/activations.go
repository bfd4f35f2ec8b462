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
		return out, kinds, activated(ctx, tx, by, out.template, a.Acknowledged)
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
		return request(ctx, tx, by, t, v, plan)
	}
	t, err = tx.Prompts.UpdateVersion(ctx, by, t.ID, prompt.Ref{ID: v.ID},
		func(t *prompt.Template, v *prompt.VersionInfo) error {
			t.ActivateReady(by, v, plan)
			return nil
		})
	return activation{template: t}, err
}

// request records plan, a request for the activation of v.
func request(ctx context.Context, tx ports.Stores, by identity.Actor, t *prompt.Template, v *prompt.VersionInfo,
	plan prompt.ActivationRequest) (activation, error) {
	if err := includable(ctx, tx, by, t, v); err != nil {
		return activation{}, err
	}
	if !plan.Acknowledged {
		if err := keepsContract(ctx, tx, by, t, t.Active.Version, v.ID); err != nil {
			return activation{}, err
		}
	}
	open, err := tx.PromptLists.OpenRequests(ctx, by.Workspace, t.ID)
	if err != nil {
		return activation{}, err
	}
	var recorded prompt.ActivationRequest
	t, err = tx.Prompts.Update(ctx, by, t.ID, func(t *prompt.Template) (err error) {
		recorded, err = t.Request(by, plan, open)
		return err
	})
	if err != nil {
		return activation{}, err
	}
	return activation{template: t, request: &recorded}, lookLater(ctx, tx, by, recorded)
}

// activated checks what follows from the activation that t, just saved, has recorded. It returns
// prompt.ErrContractBreak if the version breaks the contract of the previous version; the transaction must be rolled
// back then. It reads the contents after the activation, so that activating a template that is not checked reads none.
func activated(ctx context.Context, tx ports.Stores, by identity.Actor, t *prompt.Template, isAcknowledged bool) error {
	for _, a := range t.Activated {
		if a.Label != "" {
			continue
		}
		if !isAcknowledged {
			if err := keepsContract(ctx, tx, by, t, a.From, a.To); err != nil {
				return err
			}
		}
		return settle(ctx, tx, by, t)
	}
	return nil
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
