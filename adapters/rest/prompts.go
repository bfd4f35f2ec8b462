package rest

import (
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
		getOf(template+"/versions/{version_id}", prefetching(getVersion)),
		getOf("/api/prompt-templates", cachedQuery(listPrompts)),
		postOf("/api/prompt-templates", command(createPrompt)),
		getOf("/api/prompt-templates/folders", query(listFolders)),
		postOf("/api/prompt-templates/folders/move", command(moveFolder)),
		getOf("/api/prompt-templates/folders/shares", query(listFolderShares)),
		postOf("/api/prompt-templates/folders/shares", command(createFolderShare)),
		getOf("/api/prompt-templates/folders/shares/{folder_share_id}", query(getFolderShare)),
		patchOf("/api/prompt-templates/folders/shares/{folder_share_id}", command(updateFolderShare)),
		deleteOf("/api/prompt-templates/folders/shares/{folder_share_id}", command(deleteFolderShare)),
		getOf("/api/prompt-templates/export", exportPrompts),
		postOf("/api/prompt-templates/import", unpacking{command(importPrompts), filesAsJSON}),
		getOf("/api/prompt-templates/tags", query(listTags)),
		getOf("/api/prompt-templates/resolve", readerQuery{resolvePrompt, splitReader}),
		postOf("/api/prompt-templates/resolve", readerQuery{resolvePrompts, splitReader}),
		getOf(template, cachedQuery(getPrompt)),
		patchOf(template, command(updatePrompt)),
		deleteOf(template, command(deletePrompt)),
		postOf(template+"/restore", command(restorePrompt)),
		postOf(template+"/copy", command(copyPrompt)),
		getOf(template+"/versions", cachedQuery(listVersions)),
		postOf(template+"/versions", command(createVersion)),
		patchOf(template+"/versions/{version_id}", command(updateVersion)),
		deleteOf(template+"/versions/{version_id}", command(deleteVersion)),
		postOf(template+"/versions/{version_id}/activate", command(activateVersion)),
		getOf(template+"/versions/{version_id}/diff", query(diffVersions)),
		getOf(template+"/versions/{version_id}/checks", query(listVersionChecks)),
		postOf(template+"/versions/{version_id}/checks/{name}", command(reportVersionCheck)),
		getOf(template+"/activations", query(listActivations)),
		getOf(template+"/reads", query(listPromptReads)),
		getOf(template+"/activation-requests", query(listActivationRequests)),
		getOf(template+"/activation-requests/{activation_request_id}", query(getActivationRequest)),
		postOf(
			template+"/activation-requests/{activation_request_id}/approve",
			command(approveActivationRequest),
		),
		postOf(
			template+"/activation-requests/{activation_request_id}/refuse",
			command(refuseActivationRequest),
		),
		postOf(
			template+"/activation-requests/{activation_request_id}/cancel",
			command(cancelActivationRequest),
		),
		putOf(template+"/labels/{label}", command(moveLabel)),
		deleteOf(template+"/labels/{label}", command(removeLabel)),
		putOf(template+"/labels/{label}/rollout", command(rollOutLabel)),
		getOf(template+"/rollouts", query(listRollouts)),
		postOf(template+"/render", readerQuery{renderPrompt, splitReader}),
		getOf(template+"/folder-shares", query(listInheritedShares)),
		getOf(template+"/shares", query(listShares)),
		postOf(template+"/shares", command(createShare)),
		postOf(template+"/shares/batch", command(changeShares)),
		getOf(template+"/shares/{user_id}", query(getShare)),
		patchOf(template+"/shares/{user_id}", command(updateShare)),
		deleteOf(template+"/shares/{user_id}", command(deleteShare)),
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

func promptsArea() area { return area{name: "prompts", operations: promptOperations()} }
