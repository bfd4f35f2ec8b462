package rest

import (
	"net/http"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func activationRequestID(r *request) prompt.RequestID {
	return pathID[prompt.RequestID](r, "activation_request_id", prompt.RequestPrefix)
}

func requestPath(r *prompt.ActivationRequest) string {
	return promptPath(r.Template) + "/activation-requests/" + string(r.ID)
}

func activateVersion(r *request) (reply, error) {
	in, err := decode[openapi.ActivateRequest](r)
	if err != nil {
		return reply{}, err
	}
	wish := prompt.Activating{
		Expected: convert.PatchString[prompt.VersionID](in.ExpectedActiveVersionID), Reason: in.Reason,
		Acknowledged: in.AcknowledgeContractBreak, NotBefore: time.Time(in.ActivateAt), BypassChecks: in.BypassChecks,
	}
	t, asked, err := r.Prompts.ActivateVersion(r.Context(), r.by, promptID(r), versionRef(r), r.match, wish)
	if err != nil || asked == nil {
		return templateReply(r, t, err)
	}
	body := toTemplate(r, t)
	body.ActivationRequest = new(toActivationRequest(asked, r.by.At))
	return reply{status: http.StatusAccepted, body: body, location: requestPath(asked)}.withRevision(t.Revision), nil
}

func listActivationRequests(r *request) (reply, error) {
	show := func(v *prompt.ActivationRequest) openapi.ActivationRequest { return toActivationRequest(v, r.by.At) }
	return listing(r, show, func(q page.Query) (prompt.RequestPage, error) {
		return r.Prompts.Requests(r.Context(), r.by, promptID(r), prompt.RequestState(r.query.Get("state")), q)
	})
}

func getActivationRequest(r *request) (reply, error) {
	found, err := r.Prompts.Request(r.Context(), r.by, promptID(r), activationRequestID(r))
	if err != nil {
		return reply{}, err
	}
	from, to, d, err := r.Prompts.RequestDiff(r.Context(), r.by, found)
	if err != nil {
		return reply{}, err
	}
	out := toActivationRequest(found, r.by.At)
	if from != nil && to != nil {
		out.Diff = new(versionDiff(from, to, d))
	}
	return ok(out).withRevision(found.Revision), nil
}

func approveActivationRequest(r *request) (reply, error) { return decideRequest(r, true) }

func refuseActivationRequest(r *request) (reply, error) { return decideRequest(r, false) }

func decideRequest(r *request, approves bool) (reply, error) {
	in, err := decode[openapi.ActivationDecisionCreate](r)
	if err != nil {
		return reply{}, err
	}
	found, err := r.Prompts.Decide(r.Context(), r.by, promptID(r), activationRequestID(r),
		prompt.Decision{Approves: approves, Comment: in.Comment})
	return activationReply(r, found, err)
}

func cancelActivationRequest(r *request) (reply, error) {
	found, err := r.Prompts.Withdraw(r.Context(), r.by, promptID(r), activationRequestID(r))
	return activationReply(r, found, err)
}

func activationReply(r *request, found *prompt.ActivationRequest, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return ok(toActivationRequest(found, r.by.At)).withRevision(found.Revision), nil
}

func listVersionChecks(r *request) (reply, error) {
	v, checks, err := r.Prompts.Checks(r.Context(), r.by, promptID(r), versionRef(r))
	if err != nil {
		return reply{}, err
	}
	out := openapi.VersionCheckList{Data: make([]openapi.VersionCheck, len(checks))}
	for i := range checks {
		out.Data[i] = toVersionCheck(&checks[i], v.ContentHash)
	}
	return ok(out), nil
}

func reportVersionCheck(r *request) (reply, error) {
	in, err := decode[openapi.VersionCheckReport](r)
	if err != nil {
		return reply{}, err
	}
	c, v, err := r.Prompts.Report(r.Context(), r.by, promptID(r), versionRef(r), prompt.Check{
		Name: pathVar(r.Request, "name"), Conclusion: prompt.Conclusion(in.Conclusion), URL: in.URL,
		Summary: in.Summary,
	})
	if err != nil {
		return reply{}, err
	}
	return ok(toVersionCheck(&c, v.ContentHash)), nil
}

func toVersionCheck(c *prompt.Check, contentHash string) openapi.VersionCheck {
	return openapi.VersionCheck{
		Name:       c.Name,
		Conclusion: openapi.CheckConclusion(c.Conclusion),
		URL:        openapi.OrNull(c.URL),
		Summary:    c.Summary,
		Passed:     c.Passes(contentHash),
		Outdated:   c.ContentHash != contentHash,
		ReportedBy: string(c.By),
		ReportedAt: openapi.Time(c.At),
	}
}

func toActivationRequest(v *prompt.ActivationRequest, now time.Time) openapi.ActivationRequest {
	out := openapi.ActivationRequest{
		ID:                string(v.ID),
		PromptTemplateID:  string(v.Template),
		Version:           openapi.PromptVersionRef{ID: string(v.Version), Number: v.Number},
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
