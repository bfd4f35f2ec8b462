package prompts

import (
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func activationRequestID(r *server.Call) prompt.RequestID {
	return server.PathID[prompt.RequestID](r, "activation_request_id", prompt.RequestPrefix)
}

// activateVersion responds with 202 and a request if others must approve or a later time was chosen.
func activateVersion(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.ActivateRequest](r)
	if err != nil {
		return server.Reply{}, err
	}
	wish := prompt.Activating{
		Expected: convert.PatchString[prompt.VersionID](in.ExpectedActiveVersionID), Reason: in.Reason,
		Acknowledged: in.AcknowledgeContractBreak, NotBefore: time.Time(in.ActivateAt), BypassChecks: in.BypassChecks,
	}
	t, request, err := r.Prompts.ActivateVersion(r.Context(), r.By, promptID(r), versionRef(r), r.Match, wish)
	if err != nil {
		return server.Reply{}, err
	}
	body, version := toTemplate(r, t), t.Active.Version
	if request != nil {
		version = request.Version
	}
	if body.ChatsMissingVariables, err = unfilledChats(r, t.ID, version); err != nil {
		return server.Reply{}, err
	}
	if request == nil {
		return server.OK(body).WithRevision(t.Revision).ReadableAt(promptPath(t.ID)), nil
	}
	body.ActivationRequest = new(toActivationRequest(request, r.By.At))
	return server.Reply{
		Status: http.StatusAccepted, Body: body, Location: requestPath(request),
	}.WithRevision(t.Revision), nil
}

func checkActivation(r *server.Call) (server.Reply, error) {
	unfilled, isComplete, err := r.Chats.Unfilled(r.Context(), r.By, promptID(r), versionRef(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.ActivationCheck{
		ChatsMissingVariables: convert.Slice(unfilled, toUnfilledChat), Complete: isComplete,
	}), nil
}

func listActivationRequests(r *server.Call) (server.Reply, error) {
	show := func(v *prompt.ActivationRequest) openapi.ActivationRequest { return toActivationRequest(v, r.By.At) }
	return server.List(r, show, func(q page.Query) (prompt.RequestPage, error) {
		return r.Prompts.Requests(r.Context(), r.By, promptID(r), prompt.RequestState(r.Query.Get("state")), q)
	})
}

// getActivationRequest adds the difference to the active version, if both versions still exist.
func getActivationRequest(r *server.Call) (server.Reply, error) {
	found, err := r.Prompts.Request(r.Context(), r.By, promptID(r), activationRequestID(r))
	if err != nil {
		return server.Reply{}, err
	}
	comparison, err := r.Prompts.CompareRequest(r.Context(), r.By, found)
	if err != nil {
		return server.Reply{}, err
	}
	out := toActivationRequest(found, r.By.At)
	if comparison != nil {
		out.Diff = new(toVersionDiff(comparison))
	}
	return server.OK(out).WithRevision(found.Revision), nil
}

func approveActivationRequest(r *server.Call) (server.Reply, error) { return decideRequest(r, true) }

func refuseActivationRequest(r *server.Call) (server.Reply, error) { return decideRequest(r, false) }

func decideRequest(r *server.Call, approves bool) (server.Reply, error) {
	in, err := server.Decode[openapi.ActivationDecisionCreate](r)
	if err != nil {
		return server.Reply{}, err
	}
	found, err := r.Prompts.Decide(r.Context(), r.By, promptID(r), activationRequestID(r),
		prompt.Decision{Approves: approves, Comment: in.Comment})
	return activationReply(r, found, err)
}

func cancelActivationRequest(r *server.Call) (server.Reply, error) {
	found, err := r.Prompts.Withdraw(r.Context(), r.By, promptID(r), activationRequestID(r))
	return activationReply(r, found, err)
}

func activationReply(r *server.Call, found *prompt.ActivationRequest, err error) (server.Reply, error) {
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toActivationRequest(found, r.By.At)).WithRevision(found.Revision), nil
}
