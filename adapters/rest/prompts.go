package rest

import (
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func promptOperations() []operation {
	const template = "/api/prompt-templates/{prompt_template_id}"
	return []operation{
		// First, so that the router finds it soonest: it is the most frequent request.
		{http.MethodGet, template + "/versions/{version_id}", prefetching(getVersion)},
		{http.MethodGet, "/api/prompt-templates", cachedQuery(listPrompts)},
		{http.MethodPost, "/api/prompt-templates", command(createPrompt)},
		{http.MethodGet, "/api/prompt-templates/folders", query(listFolders)},
		{http.MethodPost, "/api/prompt-templates/folders/move", command(moveFolder)},
		{http.MethodGet, "/api/prompt-templates/folders/shares", query(listFolderShares)},
		{http.MethodPost, "/api/prompt-templates/folders/shares", command(createFolderShare)},
		{http.MethodGet, "/api/prompt-templates/folders/shares/{folder_share_id}", query(getFolderShare)},
		{http.MethodPatch, "/api/prompt-templates/folders/shares/{folder_share_id}", command(updateFolderShare)},
		{http.MethodDelete, "/api/prompt-templates/folders/shares/{folder_share_id}", command(deleteFolderShare)},
		{http.MethodGet, "/api/prompt-templates/export", exportPrompts},
		{http.MethodPost, "/api/prompt-templates/import", unpacking{command(importPrompts), filesAsJSON}},
		{http.MethodGet, "/api/prompt-templates/tags", query(listTags)},
		{http.MethodGet, "/api/prompt-templates/resolve", readerQuery{resolvePrompt, splitReader}},
		{http.MethodPost, "/api/prompt-templates/resolve", readerQuery{resolvePrompts, splitReader}},
		{http.MethodGet, template, cachedQuery(getPrompt)},
		{http.MethodPatch, template, command(updatePrompt)},
		{http.MethodDelete, template, command(deletePrompt)},
		{http.MethodPost, template + "/restore", command(restorePrompt)},
		{http.MethodPost, template + "/copy", command(copyPrompt)},
		{http.MethodGet, template + "/versions", cachedQuery(listVersions)},
		{http.MethodPost, template + "/versions", command(createVersion)},
		{http.MethodPatch, template + "/versions/{version_id}", command(updateVersion)},
		{http.MethodDelete, template + "/versions/{version_id}", command(deleteVersion)},
		{http.MethodPost, template + "/versions/{version_id}/activate", command(activateVersion)},
		{http.MethodGet, template + "/versions/{version_id}/diff", query(diffVersions)},
		{http.MethodGet, template + "/versions/{version_id}/checks", query(listVersionChecks)},
		{http.MethodPost, template + "/versions/{version_id}/checks/{name}", command(reportVersionCheck)},
		{http.MethodGet, template + "/activations", query(listActivations)},
		{http.MethodGet, template + "/reads", query(listPromptReads)},
		{http.MethodGet, template + "/activation-requests", query(listActivationRequests)},
		{http.MethodGet, template + "/activation-requests/{activation_request_id}", query(getActivationRequest)},
		{
			http.MethodPost, template + "/activation-requests/{activation_request_id}/approve",
			command(approveActivationRequest),
		},
		{
			http.MethodPost, template + "/activation-requests/{activation_request_id}/refuse",
			command(refuseActivationRequest),
		},
		{
			http.MethodPost, template + "/activation-requests/{activation_request_id}/cancel",
			command(cancelActivationRequest),
		},
		{http.MethodPut, template + "/labels/{label}", command(moveLabel)},
		{http.MethodDelete, template + "/labels/{label}", command(removeLabel)},
		{http.MethodPut, template + "/labels/{label}/rollout", command(rollOutLabel)},
		{http.MethodGet, template + "/rollouts", query(listRollouts)},
		{http.MethodPost, template + "/render", readerQuery{renderPrompt, splitReader}},
		{http.MethodGet, template + "/folder-shares", query(listInheritedShares)},
		{http.MethodGet, template + "/shares", query(listShares)},
		{http.MethodPost, template + "/shares", command(createShare)},
		{http.MethodPost, template + "/shares/batch", command(changeShares)},
		{http.MethodGet, template + "/shares/{user_id}", query(getShare)},
		{http.MethodPatch, template + "/shares/{user_id}", command(updateShare)},
		{http.MethodDelete, template + "/shares/{user_id}", command(deleteShare)},
	}
}

func promptID(r *request) prompt.ID {
	return pathID[prompt.ID](r, "prompt_template_id", prompt.Prefix)
}

func promptPath(id prompt.ID) string { return "/api/prompt-templates/" + string(id) }

func listPrompts(r *request) (reply, error) {
	f := promptFilter(r.query)
	return listing(r, mapFor(r, toTemplate), func(q page.Query) (prompt.Page, error) {
		return r.Prompts.List(r.Context(), r.by, f, q)
	})
}

func createPrompt(r *request) (reply, error) {
	in, err := decode[openapi.PromptTemplateCreate](r)
	if err != nil {
		return reply{}, err
	}
	var first *prompt.VersionDraft
	if in.Version != nil {
		first = new(versionDraft(*in.Version))
	}
	t, err := r.Prompts.Create(r.Context(), r.by, promptDraft(in), first)
	if err != nil {
		return reply{}, err
	}
	return created(promptPath(t.ID), toTemplate(r, t)).withRevision(t.Revision).readableAt(promptPath(t.ID)), nil
}

func getPrompt(r *request) (reply, error) {
	t, err := r.Prompts.Get(r.Context(), r.by, promptID(r))
	return templateReply(r, t, err)
}

func updatePrompt(r *request) (reply, error) {
	in, err := decode[openapi.PromptTemplatePatch](r)
	if err != nil {
		return reply{}, err
	}
	t, err := r.Prompts.Change(r.Context(), r.by, promptID(r), r.match, promptChanges(in))
	return templateReply(r, t, err)
}

func deletePrompt(r *request) (reply, error) {
	return noContent, r.Prompts.Delete(r.Context(), r.by, promptID(r), r.match, r.query.Get("force") == "true")
}

func restorePrompt(r *request) (reply, error) {
	t, err := r.Prompts.Restore(r.Context(), r.by, promptID(r))
	return templateReply(r, t, err)
}

func copyPrompt(r *request) (reply, error) {
	in, err := decode[openapi.PromptTemplateCopy](r)
	if err != nil {
		return reply{}, err
	}
	by, t, err := r.Prompts.Copy(r.Context(), r.by, promptID(r), prompt.Copying{
		Name: in.Name, Workspace: identity.WorkspaceID(in.WorkspaceID), Visibility: access.Visibility(in.Visibility),
		Latest: in.History == openapi.PromptCopyHistoryLatest,
	})
	if err != nil {
		return reply{}, err
	}
	return created(promptPath(t.ID), templateFor(by, t)).withRevision(t.Revision), nil
}

func listActivations(r *request) (reply, error) {
	return listing(r, toActivation, func(q page.Query) (page.Of[prompt.Activation], error) {
		return r.Prompts.Activations(r.Context(), r.by, promptID(r), r.query.Get("label"), q)
	})
}

func templateReply(r *request, t *prompt.Template, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return ok(toTemplate(r, t)).withRevision(t.Revision).readableAt(promptPath(t.ID)), nil
}
