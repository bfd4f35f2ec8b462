// Package prompts serves prompt templates: versions, labels, rollouts, folders, shares, imports and exports.
package prompts

import "github.com/atrium-hq/atrium/adapters/rest/server"

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
		server.Post("/api/prompt-templates/versions", server.Command(writeVersion)),
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
		server.Get(template+"/versions/{version_id}/activation-check", server.Query(checkActivation)),
		server.Get(template+"/versions/{version_id}/checks", server.Query(listVersionChecks)),
		server.Post(template+"/versions/{version_id}/checks/{name}", server.Command(reportVersionCheck)),
		server.Post(template+"/versions/{version_id}/feedback", server.Command(reportFeedback)),
		server.Post("/api/prompt-templates/feedback/batch", server.Command(reportFeedbackBatch)),
		server.Get(template+"/feedback", server.Query(listFeedback)),
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
