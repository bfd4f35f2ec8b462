// Package prompts serves prompt templates: versions, labels, rollouts, folders, shares, imports and exports.
package prompts

import (
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// Area returns the area of prompt templates.
func Area() server.Area { return server.Area{Name: "prompts", Operations: promptOperations()} }

func promptOperations() []server.Operation {
	const template = "/api/prompt-templates/{prompt_template_id}"
	return []server.Operation{
		// First, so that the router finds it soonest: it is the most frequent request.
		server.Get(template+"/versions/{version_id}", server.CachedQuery(getVersion)),
		server.Get("/api/prompt-templates", server.CachedQuery(listPrompts)),
		server.Post("/api/prompt-templates", server.Command(createPrompt)),
		server.Get("/api/prompt-templates/folders", server.Query(listFolders)),
		server.Post("/api/prompt-templates/folders/move", server.Command(moveFolder)),
		server.Get("/api/prompt-templates/folders/shares", server.Query(listFolderShares)),
		server.Post("/api/prompt-templates/folders/shares", server.Command(createFolderShare)),
		server.Get("/api/prompt-templates/folders/shares/{folder_share_id}", server.Query(getFolderShare)),
		server.Patch("/api/prompt-templates/folders/shares/{folder_share_id}", server.Command(updateFolderShare)),
		server.Delete("/api/prompt-templates/folders/shares/{folder_share_id}", server.Command(deleteFolderShare)),
		server.Get("/api/prompt-templates/export", exportPrompts),
		server.Post("/api/prompt-templates/import", server.Unpacking{Command: importPrompts, Unpack: filesAsJSON}),
		server.Get("/api/prompt-templates/tags", server.Query(listTags)),
		server.Get("/api/prompt-templates/resolve", server.ReaderQuery{CachedQuery: resolvePrompt, Split: splitReader}),
		server.Post(
			"/api/prompt-templates/resolve", server.ReaderQuery{CachedQuery: resolvePrompts, Split: splitReader},
		),
		server.Get(template, server.CachedQuery(getPrompt)),
		server.Patch(template, server.Command(updatePrompt)),
		server.Delete(template, server.Command(deletePrompt)),
		server.Post(template+"/restore", server.Command(restorePrompt)),
		server.Post(template+"/copy", server.Command(copyPrompt)),
		server.Get(template+"/versions", server.CachedQuery(listVersions)),
		server.Post(template+"/versions", server.Command(createVersion)),
		server.Patch(template+"/versions/{version_id}", server.Command(updateVersion)),
		server.Delete(template+"/versions/{version_id}", server.Command(deleteVersion)),
		server.Post(template+"/versions/{version_id}/activate", server.Command(activateVersion)),
		server.Get(template+"/versions/{version_id}/diff", server.Query(diffVersions)),
		server.Get(template+"/versions/{version_id}/checks", server.Query(listVersionChecks)),
		server.Post(template+"/versions/{version_id}/checks/{name}", server.Command(reportVersionCheck)),
		server.Get(template+"/activations", server.Query(listActivations)),
		server.Get(template+"/reads", server.Query(listPromptReads)),
		server.Get(template+"/activation-requests", server.Query(listActivationRequests)),
		server.Get(template+"/activation-requests/{activation_request_id}", server.Query(getActivationRequest)),
		server.Post(
			template+"/activation-requests/{activation_request_id}/approve",
			server.Command(approveActivationRequest),
		),
		server.Post(
			template+"/activation-requests/{activation_request_id}/refuse",
			server.Command(refuseActivationRequest),
		),
		server.Post(
			template+"/activation-requests/{activation_request_id}/cancel",
			server.Command(cancelActivationRequest),
		),
		server.Put(template+"/labels/{label}", server.Command(moveLabel)),
		server.Delete(template+"/labels/{label}", server.Command(removeLabel)),
		server.Put(template+"/labels/{label}/rollout", server.Command(rollOutLabel)),
		server.Get(template+"/rollouts", server.Query(listRollouts)),
		server.Post(template+"/render", server.ReaderQuery{CachedQuery: renderPrompt, Split: splitReader}),
		server.Get(template+"/folder-shares", server.Query(listInheritedShares)),
		server.Get(template+"/shares", server.Query(listShares)),
		server.Post(template+"/shares", server.Command(createShare)),
		server.Post(template+"/shares/batch", server.Command(changeShares)),
		server.Get(template+"/shares/{user_id}", server.Query(getShare)),
		server.Patch(template+"/shares/{user_id}", server.Command(updateShare)),
		server.Delete(template+"/shares/{user_id}", server.Command(deleteShare)),
	}
}

func promptID(r *server.Call) prompt.ID {
	return server.PathID[prompt.ID](r, "prompt_template_id", prompt.Prefix)
}

func promptPath(id prompt.ID) string { return "/api/prompt-templates/" + string(id) }

func listPrompts(r *server.Call) (server.Reply, error) {
	f := promptFilter(r.Query)
	return server.List(r, server.MapFor(r, toTemplate), func(q page.Query) (prompt.Page, error) {
		return r.Prompts.List(r.Context(), r.By, f, q)
	})
}

func createPrompt(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.PromptTemplateCreate](r)
	if err != nil {
		return server.Reply{}, err
	}
	var first *prompt.VersionDraft
	if in.Version != nil {
		first = new(versionDraft(*in.Version))
	}
	t, err := r.Prompts.Create(r.Context(), r.By, promptDraft(in), first)
	if err != nil {
		return server.Reply{}, err
	}
	return server.Created(promptPath(t.ID), toTemplate(r, t)).WithRevision(t.Revision).ReadableAt(promptPath(t.ID)), nil
}

func getPrompt(r *server.Call) (server.Reply, error) {
	t, err := r.Prompts.Get(r.Context(), r.By, promptID(r))
	return templateReply(r, t, err)
}

func updatePrompt(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.PromptTemplatePatch](r)
	if err != nil {
		return server.Reply{}, err
	}
	t, err := r.Prompts.Change(r.Context(), r.By, promptID(r), r.Match, promptChanges(in))
	return templateReply(r, t, err)
}

func deletePrompt(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Prompts.Delete(r.Context(), r.By, promptID(r), r.Match, r.Query.Get("force") == "true")
}

func restorePrompt(r *server.Call) (server.Reply, error) {
	t, err := r.Prompts.Restore(r.Context(), r.By, promptID(r))
	return templateReply(r, t, err)
}

func copyPrompt(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.PromptTemplateCopy](r)
	if err != nil {
		return server.Reply{}, err
	}
	by, t, err := r.Prompts.Copy(r.Context(), r.By, promptID(r), prompt.Copying{
		Name: in.Name, Workspace: identity.WorkspaceID(in.WorkspaceID), Visibility: access.Visibility(in.Visibility),
		Latest: in.History == openapi.PromptCopyHistoryLatest,
	})
	if err != nil {
		return server.Reply{}, err
	}
	return server.Created(promptPath(t.ID), templateFor(by, t)).WithRevision(t.Revision), nil
}

func listActivations(r *server.Call) (server.Reply, error) {
	return server.List(r, toActivation, func(q page.Query) (page.Of[prompt.Activation], error) {
		return r.Prompts.Activations(r.Context(), r.By, promptID(r), r.Query.Get("label"), q)
	})
}

func templateReply(r *server.Call, t *prompt.Template, err error) (server.Reply, error) {
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toTemplate(r, t)).WithRevision(t.Revision).ReadableAt(promptPath(t.ID)), nil
}
