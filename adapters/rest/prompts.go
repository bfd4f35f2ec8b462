package rest

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/oapi-codegen/nullable"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func (a *API) promptOperations() []operation {
	const template = "/api/prompt-templates/{prompt_template_id}"
	return []operation{
		{http.MethodGet, template + "/versions/{version_id}", query(a.getVersion)}, // first, where the router finds it soonest: applications repeat it all day
		{http.MethodGet, "/api/prompt-templates", query(a.listPrompts)},
		{http.MethodPost, "/api/prompt-templates", command(a.createPrompt)},
		{http.MethodPost, "/api/prompt-templates/resolve", query(a.resolvePrompts)},
		{http.MethodGet, template, query(a.getPrompt)},
		{http.MethodPatch, template, command(a.updatePrompt)},
		{http.MethodDelete, template, command(a.deletePrompt)},
		{http.MethodPost, template + "/restore", command(a.restorePrompt)},
		{http.MethodGet, template + "/versions", query(a.listVersions)},
		{http.MethodPost, template + "/versions", command(a.createVersion)},
		{http.MethodPatch, template + "/versions/{version_id}", command(a.updateVersion)},
		{http.MethodDelete, template + "/versions/{version_id}", command(a.deleteVersion)},
		{http.MethodPost, template + "/versions/{version_id}/activate", command(a.activateVersion)},
		{http.MethodGet, template + "/versions/{version_id}/diff", query(a.diffVersions)},
		{http.MethodGet, template + "/activations", query(a.listActivations)},
		{http.MethodPost, template + "/render", query(a.renderPrompt)},
		{http.MethodGet, template + "/shares", query(a.listShares)},
		{http.MethodPost, template + "/shares", command(a.createShare)},
		{http.MethodGet, template + "/shares/{user_id}", query(a.getShare)},
		{http.MethodPatch, template + "/shares/{user_id}", command(a.updateShare)},
		{http.MethodDelete, template + "/shares/{user_id}", command(a.deleteShare)},
	}
}

func promptID(r *request) prompt.ID {
	return pathID[prompt.ID](r, "prompt_template_id", prompt.Prefix)
}

func promptPath(t *prompt.Template) string { return "/api/prompt-templates/" + string(t.ID) }

func (a *API) listPrompts(r *request) (reply, error) {
	q, err := r.page()
	if err != nil {
		return reply{}, err
	}
	f := prompt.Filter{Query: r.query.Get("q"), Tag: r.query.Get("tag"), Folder: strings.TrimSuffix(r.query.Get("folder"), "/")}
	found, err := r.Prompts.List(r.Context(), r.by, f, q)
	if err != nil {
		return reply{}, err
	}
	next, err := r.next(found.Next)
	return ok(openapi.PromptTemplateList{Data: each(found.Items, r.template), NextCursor: next}), err
}

func (a *API) createPrompt(r *request) (reply, error) {
	in, err := decode[openapi.PromptTemplateCreate](r)
	if err != nil {
		return reply{}, err
	}
	t, err := r.Prompts.Create(r.Context(), r.by, prompt.Draft{
		Name: in.Name, Type: prompt.Type(in.Type), Description: in.Description, Tags: in.Tags, Metadata: in.Metadata,
		Visibility: access.Visibility(in.Visibility), Protected: in.Protected,
	})
	if err != nil {
		return reply{}, err
	}
	return created(promptPath(t), r.template(t)).at(t.Revision).of(promptPath(t)), nil
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
	t, err := r.Prompts.Change(r.Context(), r.by, promptID(r), r.match, prompt.Changes{
		Name: in.Name, Description: orZero(in.Description), Tags: orZero(in.Tags), Metadata: merging(in.Metadata),
		Visibility: (*access.Visibility)(in.Visibility), Protected: in.Protected, Owner: (*identity.UserID)(in.OwnerID),
	})
	return r.templateReply(t, err)
}

func (a *API) deletePrompt(r *request) (reply, error) {
	return noContent, r.Prompts.Delete(r.Context(), r.by, promptID(r), r.match)
}

func (a *API) restorePrompt(r *request) (reply, error) {
	t, err := r.Prompts.Restore(r.Context(), r.by, promptID(r))
	return r.templateReply(t, err)
}

func (a *API) activateVersion(r *request) (reply, error) {
	in, err := decode[openapi.ActivateRequest](r)
	if err != nil {
		return reply{}, err
	}
	expected := cleared[prompt.VersionID](in.ExpectedActiveVersionID)
	t, err := r.Prompts.ActivateVersion(r.Context(), r.by, promptID(r), versionRef(r), r.match, expected, in.Reason)
	return r.templateReply(t, err)
}

func (a *API) listActivations(r *request) (reply, error) {
	q, err := r.page()
	if err != nil {
		return reply{}, err
	}
	found, err := r.Prompts.Activations(r.Context(), r.by, promptID(r), q)
	if err != nil {
		return reply{}, err
	}
	next, err := r.next(found.Next)
	return ok(openapi.ActivationList{Data: each(found.Items, toActivation), NextCursor: next}), err
}

func toActivation(a *prompt.Activation) openapi.Activation {
	return openapi.Activation{
		FromVersionID: openapi.OrNull(string(a.From)), ToVersionID: string(a.To),
		ActivatedBy: string(a.By), ActivatedAt: openapi.Time(a.At), Reason: a.Reason,
	}
}

func (r *request) templateReply(t *prompt.Template, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return ok(r.template(t)).at(t.Revision).of(promptPath(t)), nil
}

// template is a template as this caller sees it.
func (r *request) template(t *prompt.Template) openapi.PromptTemplate {
	seen := t.Versions(r.by)
	out := openapi.PromptTemplate{
		ID: string(t.ID), Name: t.Name, Type: openapi.PromptType(t.Type), Description: t.Description, Tags: list(t.Tags),
		Metadata: orEmpty(t.Metadata, "{}"), Visibility: openapi.Visibility(t.Visibility), Protected: t.Protected, OwnerID: string(t.Owner),
		ActiveVersion: nullable.NewNullNullable[openapi.ActiveVersion](), LatestVersion: nullable.NewNullNullable[openapi.PromptVersionRef](),
		VersionCount: seen.Count, MyRole: openapi.PromptRole(t.Access(r.by).String()),
		Revision: t.Revision, CreatedAt: openapi.Time(t.CreatedAt), CreatedBy: string(t.CreatedBy), UpdatedAt: openapi.Time(t.UpdatedAt),
	}
	if v := t.Active; v.Version != "" {
		out.ActiveVersion = nullable.NewNullableWithValue(openapi.ActiveVersion{
			ID: string(v.Version), Number: v.Number, ActivatedAt: openapi.Time(v.At), ActivatedBy: string(v.By),
		})
	}
	if seen.Latest != "" {
		out.LatestVersion = nullable.NewNullableWithValue(openapi.PromptVersionRef{ID: string(seen.Latest), Number: seen.LatestNumber})
	}
	return out
}

// list is a slice that encodes as an array even if it is nil.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// orEmpty returns raw, or empty if there is none.
func orEmpty(raw json.RawMessage, empty string) json.RawMessage {
	if raw == nil {
		return json.RawMessage(empty)
	}
	return raw
}
