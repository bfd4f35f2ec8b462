package rest

import (
	"encoding/json"
	"net/http"

	"github.com/gorilla/mux"
	"github.com/oapi-codegen/nullable"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func (a *API) chatOperations() []operation {
	const template = "/api/chat-templates/{template_id}"
	return []operation{
		{http.MethodGet, "/api/chat-templates", query(a.listChats)},
		{http.MethodPost, "/api/chat-templates", command(a.createChat)},
		{http.MethodGet, "/api/chat-templates/registry", query(a.getRegistry)}, // before what takes any id
		{http.MethodGet, template, query(a.getChat)},
		{http.MethodPatch, template, command(a.updateChat)},
		{http.MethodDelete, template, command(a.deleteChat)},
		{http.MethodPost, template + "/restore", command(a.restoreChat)},
		{http.MethodGet, template + "/members", query(a.listChatMembers)},
		{http.MethodPost, template + "/members", command(a.createChatMember)},
		{http.MethodPatch, template + "/members/{user_id}", command(a.updateChatMember)},
		{http.MethodDelete, template + "/members/{user_id}", command(a.deleteChatMember)},
		{http.MethodPost, template + "/workflows/{workflow_id}", command(a.attachWorkflow)},
		{http.MethodDelete, template + "/workflows/{workflow_id}", command(a.detachWorkflow)},
	}
}

func chatID(r *request) chat.ID { return pathID[chat.ID](r, "template_id", chat.Prefix) }

func chatPath(t *chat.Template) string { return "/api/chat-templates/" + string(t.ID) }

func (a *API) listChats(r *request) (reply, error) {
	q, err := r.page()
	if err != nil {
		return reply{}, err
	}
	f := chat.Filter{Query: r.query.Get("q"), Status: chat.Status(r.query.Get("status")), Visibility: access.Visibility(r.query.Get("visibility"))}
	found, err := r.Chats.List(r.Context(), r.by, f, q)
	if err != nil {
		return reply{}, err
	}
	next, err := r.next(found.Next)
	return ok(openapi.ChatTemplateList{Data: each(found.Items, r.chatSummary), NextCursor: next}), err
}

func (a *API) createChat(r *request) (reply, error) {
	in, err := decode[openapi.ChatTemplateCreate](r)
	if err != nil {
		return reply{}, err
	}
	t, err := r.Chats.Create(r.Context(), r.by, chat.Draft{
		Content: chat.Content{
			Name: in.Name, Description: in.Description, AvatarURL: in.AvatarURL, Instructions: in.Instructions, Prompt: toChatPrompt(in.Prompt),
			Agents: toSelected(in.Agents), Tools: toSelected(in.Tools), Capabilities: in.Capabilities, Model: toModel(in.ModelConfig),
			Greeting: in.Greeting, Starters: in.ConversationStarters, Metadata: in.Metadata,
		},
		Status: chat.Status(in.Status), Visibility: access.Visibility(in.Visibility),
	})
	if err != nil {
		return reply{}, err
	}
	return created(chatPath(t), r.chat(t)).at(t.Revision).of(chatPath(t)), nil
}

func (a *API) getChat(r *request) (reply, error) {
	t, err := r.Chats.Get(r.Context(), r.by, chatID(r))
	return r.chatReply(t, err)
}

func (a *API) updateChat(r *request) (reply, error) {
	in, err := decode[openapi.ChatTemplatePatch](r)
	if err != nil {
		return reply{}, err
	}
	t, err := r.Chats.Change(r.Context(), r.by, chatID(r), r.match, chatChanges(in))
	return r.chatReply(t, err)
}

// chatChanges reads a merge patch (RFC 7396).
func chatChanges(in openapi.ChatTemplatePatch) chat.Changes {
	c := chat.Changes{
		Name: in.Name, Description: orZero(in.Description), AvatarURL: orZero(in.AvatarURL), Instructions: orZero(in.Instructions),
		Capabilities: orZero(in.Capabilities), Greeting: orZero(in.Greeting), Starters: orZero(in.ConversationStarters),
		Status: (*chat.Status)(in.Status), Visibility: (*access.Visibility)(in.Visibility), Owner: (*identity.UserID)(in.OwnerID), Metadata: merging(in.Metadata),
	}
	if p := orZero(in.Prompt); p != nil {
		c.Prompt = new(toChatPrompt(*p))
	}
	if v := orZero(in.Agents); v != nil {
		c.Agents = new(toSelected(*v))
	}
	if v := orZero(in.Tools); v != nil {
		c.Tools = new(toSelected(*v))
	}
	if in.ModelConfig.IsSpecified() {
		c.Model = func(old *prompt.ModelConfig) *prompt.ModelConfig {
			if in.ModelConfig.IsNull() {
				return nil
			}
			return patchModel(old, in.ModelConfig.MustGet())
		}
	}
	return c
}

func (a *API) deleteChat(r *request) (reply, error) {
	return noContent, r.Chats.Delete(r.Context(), r.by, chatID(r), r.match)
}

func (a *API) restoreChat(r *request) (reply, error) {
	t, err := r.Chats.Restore(r.Context(), r.by, chatID(r))
	return r.chatReply(t, err)
}

func (a *API) attachWorkflow(r *request) (reply, error) {
	t, w, attached, err := r.Chats.AttachWorkflow(r.Context(), r.by, chatID(r), mux.Vars(r.Request)["workflow_id"])
	if err != nil {
		return reply{}, err
	}
	out := ok(toWorkflow(&w))
	if attached {
		out = created("/api/chat-templates/"+string(t.ID)+"/workflows/"+w.ID, toWorkflow(&w))
	}
	return out.at(t.Revision), nil
}

func (a *API) detachWorkflow(r *request) (reply, error) {
	return noContent, r.Chats.DetachWorkflow(r.Context(), r.by, chatID(r), r.match, mux.Vars(r.Request)["workflow_id"])
}

func (a *API) getRegistry(r *request) (reply, error) {
	of := r.Chats.Registry(r.by)
	return ok(openapi.ChatRegistry{
		Revision: of.Revision, Agents: each(of.Agents, toRegistryItem), Tools: each(of.Tools, toRegistryItem),
		Capabilities: each(of.Capabilities, toRegistryItem), Workflows: each(of.Workflows, toRegistryItem),
	}).at(1), nil // the API cannot change it, so the tag's hash identifies it
}

func toRegistryItem(i *chat.Item) openapi.RegistryItem {
	out := openapi.RegistryItem{
		ID: i.ID, Name: i.Name, Description: i.Description, Version: i.Version, Status: openapi.RegistryStatus(i.Status),
		ConfigSchema: nullable.NewNullNullable[json.RawMessage](), Requires: list(i.Requires), Effects: openapi.RegistryEffects(i.Effects), EmbedSafe: i.EmbedSafe,
	}
	if i.ConfigSchema != nil {
		out.ConfigSchema = nullable.NewNullableWithValue(i.ConfigSchema)
	}
	return out
}

func (r *request) chatReply(t *chat.Template, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return ok(r.chat(t)).at(t.Revision).of(chatPath(t)), nil
}

// chat is a template as this caller sees it.
func (r *request) chat(t *chat.Template) openapi.ChatTemplate {
	out := r.chatSummary(t)
	if !t.SeesInside(r.by) {
		return out
	}
	out.Instructions = &t.Instructions
	out.Agents, out.Tools = each(t.Agents, fromSelected), each(t.Tools, fromSelected)
	out.ModelConfig = new(fromModel(t.Model))
	out.Prompt = nullable.NewNullNullable[openapi.ChatPrompt]()
	if t.Prompt != (chat.Prompt{}) {
		out.Prompt = nullable.NewNullableWithValue(openapi.ChatPrompt{PromptTemplateID: string(t.Prompt.Template), Ref: t.Prompt.Ref})
	}
	return out
}

// chatSummary returns a template without its content.
func (r *request) chatSummary(t *chat.Template) openapi.ChatTemplate {
	issues := r.Chats.Registry(r.by).Issues(t)
	health := openapi.ChatHealthOk
	if len(issues) > 0 {
		health = openapi.ChatHealthDegraded
	}
	id := func(s *chat.Selected) openapi.ChatItem { return openapi.ChatItem{ID: s.ID} }
	return openapi.ChatTemplate{
		ID: string(t.ID), Name: t.Name, Description: t.Description, AvatarURL: openapi.OrNull(t.AvatarURL), Status: openapi.ChatStatus(t.Status),
		Agents: each(t.Agents, id), Tools: each(t.Tools, id), Capabilities: list(t.Capabilities), Greeting: t.Greeting, ConversationStarters: list(t.Starters),
		Visibility: openapi.Visibility(t.Visibility), Metadata: orEmpty(t.Metadata, "{}"), OwnerID: string(t.Owner), Workflows: each(t.Workflows, toWorkflow),
		MyRole: openapi.ChatRole(t.Access(r.by).String()), Health: health, Issues: each(issues, toIssue),
		Revision: t.Revision, CreatedAt: openapi.Time(t.CreatedAt), CreatedBy: string(t.CreatedBy), UpdatedAt: openapi.Time(t.UpdatedAt),
	}
}

func toIssue(i *chat.Issue) openapi.ChatIssue {
	return openapi.ChatIssue{Code: openapi.ChatIssueCode(i.Code), Pointer: i.Pointer, Detail: i.Detail}
}

func toWorkflow(w *chat.Workflow) openapi.ChatWorkflow {
	return openapi.ChatWorkflow{WorkflowID: w.ID, AttachedBy: string(w.AttachedBy), AttachedAt: openapi.Time(w.AttachedAt)}
}

func toChatPrompt(in openapi.ChatPrompt) chat.Prompt {
	return chat.Prompt{Template: prompt.ID(in.PromptTemplateID), Ref: in.Ref}
}

func toSelected(in []openapi.ChatItem) []chat.Selected {
	return each(in, func(i *openapi.ChatItem) chat.Selected { return chat.Selected{ID: i.ID, Config: i.Config} })
}

func fromSelected(s *chat.Selected) openapi.ChatItem {
	return openapi.ChatItem{ID: s.ID, Config: s.Config}
}
