package prompts

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func requestPath(r *prompt.ActivationRequest) string {
	return promptPath(r.Template) + "/activation-requests/" + string(r.ID)
}

func toActivationRequest(v *prompt.ActivationRequest, now time.Time) openapi.ActivationRequest {
	out := openapi.ActivationRequest{
		ID:                string(v.ID),
		PromptTemplateID:  string(v.Template),
		Label:             openapi.OrNull(v.Label),
		Version:           openapi.PromptVersionRef{ID: string(v.Version), Number: v.Number},
		Weights:           toWeights(v.Rollout()),
		Feedback:          toGuard(v.Guard()),
		BaseVersionID:     openapi.OrNull(string(v.Base)),
		BaseVersionNumber: openapi.OrNull(v.BaseNumber),
		State:             openapi.ActivationRequestState(v.State),
		Cause:             openapi.OrNull(openapi.ActivationRequestCause(v.Cause)),
		WaitsFor:          waitsFor(v, now),
		Reason:            v.Reason,
		ActivateAt:        convert.OrNullTime(v.NotBefore),
		ApprovalsRequired: v.Approvals,
		Decisions:         make([]openapi.ActivationDecision, len(v.Decisions)),
		MissingChecks:     convert.NonNil(v.Missing),
		RequestedBy:       string(v.By),
		ExpiresAt:         openapi.Time(v.ExpiresAt()),
		EndedAt:           convert.OrNullTime(v.EndedAt),
		EndedBy:           openapi.OrNull(string(v.EndedBy)),
		Revision:          v.Revision,
		CreatedAt:         openapi.Time(v.CreatedAt),
		UpdatedAt:         openapi.Time(v.UpdatedAt),
	}
	for i, d := range v.Decisions {
		out.Decisions[i] = openapi.ActivationDecision{
			UserID:    string(d.By),
			Approves:  d.Approves,
			Comment:   d.Comment,
			DecidedAt: openapi.Time(d.At),
		}
	}
	return out
}

// toGuard returns nil if versions are not compared.
func toGuard(g prompt.Guard) *openapi.PromptRolloutFeedback {
	if g.Name == "" {
		return nil
	}
	better := openapi.PromptRolloutFeedbackBetterHigher
	if g.Lower {
		better = openapi.PromptRolloutFeedbackBetterLower
	}
	return &openapi.PromptRolloutFeedback{Name: g.Name, Value: g.Value, Margin: g.Margin, Better: better}
}

// waitsFor returns what a request waits for.
func waitsFor(v *prompt.ActivationRequest, now time.Time) []openapi.ActivationWait {
	if v.State != prompt.Waiting {
		return []openapi.ActivationWait{}
	}
	waits := map[openapi.ActivationWait]bool{
		openapi.ActivationWaitApprovals: v.Approved() < v.Approvals,
		openapi.ActivationWaitChecks:    len(v.Missing) > 0,
		openapi.ActivationWaitTime:      now.Before(v.NotBefore),
	}
	all := []openapi.ActivationWait{
		openapi.ActivationWaitApprovals, openapi.ActivationWaitChecks, openapi.ActivationWaitTime,
	}
	return slices.DeleteFunc(all, func(w openapi.ActivationWait) bool { return !waits[w] })
}
