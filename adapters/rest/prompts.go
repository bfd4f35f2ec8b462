package rest

import (
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func (a *API) promptOperations() []operation {
	const template = "/api/prompt-templates/{prompt_template_id}"
	return []operation{
		// First, so that the router finds it soonest: it is the most frequent request.
		{http.MethodGet, template + "/versions/{version_id}", prefetching(a.getVersion)},
		{http.MethodGet, "/api/prompt-templates", cachedQuery(a.listPrompts)},
		{http.MethodPost, "/api/prompt-templates", command(a.createPrompt)},
		{http.MethodGet, "/api/prompt-templates/folders", query(a.listFolders)},
		{http.MethodPost, "/api/prompt-templates/folders/move", command(a.moveFolder)},
		{http.MethodGet, "/api/prompt-templates/folders/shares", query(a.listFolderShares)},
		{http.MethodPost, "/api/prompt-templates/folders/shares", command(a.createFolderShare)},
		{http.MethodGet, "/api/prompt-templates/folders/shares/{folder_share_id}", query(a.getFolderShare)},
		{http.MethodPatch, "/api/prompt-templates/folders/shares/{folder_share_id}", command(a.updateFolderShare)},
		{http.MethodDelete, "/api/prompt-templates/folders/shares/{folder_share_id}", command(a.deleteFolderShare)},
		{http.MethodGet, "/api/prompt-templates/export", exportPrompts},
		{http.MethodPost, "/api/prompt-templates/import", command(a.importPrompts)},
		{http.MethodGet, "/api/prompt-templates/tags", query(a.listTags)},
		{http.MethodGet, "/api/prompt-templates/resolve", cachedQuery(a.resolvePrompt)},
		{http.MethodPost, "/api/prompt-templates/resolve", cachedQuery(a.resolvePrompts)},
		{http.MethodGet, template, cachedQuery(a.getPrompt)},
		{http.MethodPatch, template, command(a.updatePrompt)},
		{http.MethodDelete, template, command(a.deletePrompt)},
		{http.MethodPost, template + "/restore", command(a.restorePrompt)},
		{http.MethodPost, template + "/copy", command(a.copyPrompt)},
		{http.MethodGet, template + "/versions", cachedQuery(a.listVersions)},
		{http.MethodPost, template + "/versions", command(a.createVersion)},
		{http.MethodPatch, template + "/versions/{version_id}", command(a.updateVersion)},
		{http.MethodDelete, template + "/versions/{version_id}", command(a.deleteVersion)},
		{http.MethodPost, template + "/versions/{version_id}/activate", command(a.activateVersion)},
		{http.MethodGet, template + "/versions/{version_id}/diff", query(a.diffVersions)},
		{http.MethodGet, template + "/versions/{version_id}/checks", query(a.listVersionChecks)},
		{http.MethodPost, template + "/versions/{version_id}/checks/{name}", command(a.reportVersionCheck)},
		{http.MethodGet, template + "/activations", query(a.listActivations)},
		{http.MethodGet, template + "/reads", query(a.listPromptReads)},
		{http.MethodGet, template + "/activation-requests", query(a.listActivationRequests)},
		{http.MethodGet, template + "/activation-requests/{activation_request_id}", query(a.getActivationRequest)},
		{
			http.MethodPost, template + "/activation-requests/{activation_request_id}/approve",
			command(a.approveActivationRequest),
		},
		{
			http.MethodPost, template + "/activation-requests/{activation_request_id}/refuse",
			command(a.refuseActivationRequest),
		},
		{
			http.MethodPost, template + "/activation-requests/{activation_request_id}/cancel",
			command(a.cancelActivationRequest),
		},
		{http.MethodPut, template + "/labels/{label}", command(a.moveLabel)},
		{http.MethodDelete, template + "/labels/{label}", command(a.removeLabel)},
		{http.MethodPut, template + "/labels/{label}/rollout", command(a.rollOutLabel)},
		{http.MethodGet, template + "/rollouts", query(a.listRollouts)},
		{http.MethodPost, template + "/render", cachedQuery(a.renderPrompt)},
		{http.MethodGet, template + "/folder-shares", query(a.listInheritedShares)},
		{http.MethodGet, template + "/shares", query(a.listShares)},
		{http.MethodPost, template + "/shares", command(a.createShare)},
		{http.MethodPost, template + "/shares/batch", command(a.changeShares)},
		{http.MethodGet, template + "/shares/{user_id}", query(a.getShare)},
		{http.MethodPatch, template + "/shares/{user_id}", command(a.updateShare)},
		{http.MethodDelete, template + "/shares/{user_id}", command(a.deleteShare)},
	}
}

func promptID(r *request) prompt.ID {
	return pathID[prompt.ID](r, "prompt_template_id", prompt.Prefix)
}

func promptPath(id prompt.ID) string { return "/api/prompt-templates/" + string(id) }

func (a *API) listPrompts(r *request) (reply, error) {
	f := promptFilter(r.query)
	return listing(r, r.template, func(q page.Query) (prompt.Page, error) {
		return r.Prompts.List(r.Context(), r.by, f, q)
	})
}

func (a *API) createPrompt(r *request) (reply, error) {
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
	return created(promptPath(t.ID), r.template(t)).withRevision(t.Revision).readableAt(promptPath(t.ID)), nil
}

func (a *API) getPrompt(r *request) (reply, error) {
	t, err := r.Prompts.Get(r.Context(), r.by, promptID(r))
	return r.templateReply(t, err)
}

func (a *API) updatePrompt(r *request) (reply, error) {
	in, err := decode[openapi.PromptTemplatePatch](r)
	if err != nil {
		return reply{}, err
	}
	t, err := r.Prompts.Change(r.Context(), r.by, promptID(r), r.match, promptChanges(in))
	return r.templateReply(t, err)
}

func (a *API) deletePrompt(r *request) (reply, error) {
	return noContent, r.Prompts.Delete(r.Context(), r.by, promptID(r), r.match, r.query.Get("force") == "true")
}

func (a *API) restorePrompt(r *request) (reply, error) {
	t, err := r.Prompts.Restore(r.Context(), r.by, promptID(r))
	return r.templateReply(t, err)
}

func (a *API) copyPrompt(r *request) (reply, error) {
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

func (a *API) listActivations(r *request) (reply, error) {
	return listing(r, toActivation, func(q page.Query) (page.Of[prompt.Activation], error) {
		return r.Prompts.Activations(r.Context(), r.by, promptID(r), r.query.Get("label"), q)
	})
}

func (r *request) templateReply(t *prompt.Template, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return ok(r.template(t)).withRevision(t.Revision).readableAt(promptPath(t.ID)), nil
}
