package prompts

import (
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

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
