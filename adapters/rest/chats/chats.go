package chats

import (
	"encoding/json"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

func chatOperations() []server.Operation {
	const template = "/api/chat-templates/{template_id}"
	return []server.Operation{
		server.Get("/api/chat-templates", server.CachedQuery(listChats)),
		server.Post("/api/chat-templates", server.Command(createChat)),
		server.Get("/api/chat-templates/registry", server.Query(getRegistry)), // before the route of any id
		server.Get(template, server.CachedQuery(getChat)),
		server.Get(template+"/runtime", server.CachedQuery(getChatRuntime)),
		server.Post(template+"/runtime", server.CachedQuery(renderChatRuntime)),
		server.Patch(template, server.Command(updateChat)),
		server.Delete(template, server.Command(deleteChat)),
		server.Post(template+"/restore", server.Command(restoreChat)),
		server.Get(template+"/members", server.Query(listChatMembers)),
		server.Post(template+"/members", server.Command(createChatMember)),
		server.Post(template+"/members/batch", server.Command(changeChatMembers)),
		server.Get(template+"/members/{user_id}", server.Query(getChatMember)),
		server.Patch(template+"/members/{user_id}", server.Command(updateChatMember)),
		server.Delete(template+"/members/{user_id}", server.Command(deleteChatMember)),
		server.Get(template+"/workflows/{workflow_id}", server.Query(getWorkflow)),
		server.Post(template+"/workflows/{workflow_id}", server.Command(attachWorkflow)),
		server.Delete(template+"/workflows/{workflow_id}", server.Command(detachWorkflow)),
	}
}

func listChats(r *server.Call) (server.Reply, error) {
	f := chatFilter(r.Query)
	return server.List(r, server.MapFor(r, toChatSummary), func(q page.Query) (chat.Page, error) {
		return r.Chats.List(r.Context(), r.By, f, q)
	})
}

func createChat(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.ChatTemplateCreate](r)
	if err != nil {
		return server.Reply{}, err
	}
	t, err := r.Chats.Create(r.Context(), r.By, chatDraft(in))
	if err != nil {
		return server.Reply{}, err
	}
	return newChatReply(r, t)
}

func getChat(r *server.Call) (server.Reply, error) {
	t, err := r.Chats.Get(r.Context(), r.By, chatID(r))
	return chatReply(r, t, err)
}

var errVariables = &fault.Error{Kind: fault.Malformed, Code: "invalid_parameter",
	Detail: "The query parameter variables must be a JSON object."}

func getChatRuntime(r *server.Call) (server.Reply, error) {
	values := map[string]any{}
	if r.Query.Has("variables") {
		text := r.Query.Get("variables")
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber() // large integers keep every digit
		if !json.Valid([]byte(text)) || d.Decode(&values) != nil || values == nil {
			return server.Reply{}, errVariables
		}
	}
	return runtimeReply(r, values)
}

// renderChatRuntime is getChatRuntime with values in the body.
func renderChatRuntime(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.ChatRuntimeValues](r)
	if err != nil {
		return server.Reply{}, err
	}
	values := make(map[string]any, len(in.Variables))
	for name, value := range in.Variables {
		values[name] = value
	}
	return runtimeReply(r, values)
}

// runtimeReply counts a read of the prompt version only when the response has been delivered.
func runtimeReply(r *server.Call, values map[string]any) (server.Reply, error) {
	r.TrackedOnly = true
	found, err := r.Chats.Runtime(r.Context(), r.By, chatID(r), values)
	if err != nil {
		return server.Reply{}, err
	}
	if found.Version != nil {
		id := found.Version.ID
		reads := r.PromptReads
		r.Delivered = func(reader identity.Actor) { reads.Record(reader, id) }
	}
	return server.OK(toChatRuntime(found)).WithRevision(found.Template.Revision), nil
}

func updateChat(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.ChatTemplatePatch](r)
	if err != nil {
		return server.Reply{}, err
	}
	t, err := r.Chats.Change(r.Context(), r.By, chatID(r), r.Match, chatChanges(in))
	return chatReply(r, t, err)
}

func deleteChat(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Chats.Delete(r.Context(), r.By, chatID(r), r.Match)
}

func restoreChat(r *server.Call) (server.Reply, error) {
	t, err := r.Chats.Restore(r.Context(), r.By, chatID(r))
	return chatReply(r, t, err)
}

func getWorkflow(r *server.Call) (server.Reply, error) {
	t, err := r.Chats.Get(r.Context(), r.By, chatID(r))
	if err != nil {
		return server.Reply{}, err
	}
	w, err := t.Workflow(server.PathVar(r.Request, "workflow_id"))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toWorkflow(&w)).WithRevision(t.Revision), nil
}

func attachWorkflow(r *server.Call) (server.Reply, error) {
	t, w, isAttached, err := r.Chats.AttachWorkflow(
		r.Context(), r.By, chatID(r), server.PathVar(r.Request, "workflow_id"),
	)
	if err != nil {
		return server.Reply{}, err
	}
	out := server.OK(toWorkflow(&w))
	if isAttached {
		out = server.Created("/api/chat-templates/"+string(t.ID)+"/workflows/"+w.ID, toWorkflow(&w))
	}
	return out.WithRevision(t.Revision), nil
}

func detachWorkflow(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Chats.DetachWorkflow(
		r.Context(), r.By, chatID(r), r.Match, server.PathVar(r.Request, "workflow_id"),
	)
}

func getRegistry(r *server.Call) (server.Reply, error) {
	registry := r.Chats.Registry(r.By)
	return server.OK(openapi.ChatRegistry{
		Revision:     registry.Revision,
		Agents:       convert.Slice(registry.Agents, toRegistryItem),
		Tools:        convert.Slice(registry.Tools, toRegistryItem),
		Capabilities: convert.Slice(registry.Capabilities, toRegistryItem),
		Workflows:    convert.Slice(registry.Workflows, toRegistryItem),
	}).WithRevision(1), nil // the API cannot change it, so the tag's hash identifies it
}

func chatReply(r *server.Call, t *chat.Template, err error) (server.Reply, error) {
	if err != nil {
		return server.Reply{}, err
	}
	issues, err := r.Chats.Issues(r.Context(), r.By, t)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toChat(r, t, issues)).WithRevision(t.Revision).ReadableAt(chatPath(t)), nil
}

func newChatReply(r *server.Call, t *chat.Template) (server.Reply, error) {
	issues, err := r.Chats.Issues(r.Context(), r.By, t)
	if err != nil {
		return server.Reply{}, err
	}
	path := chatPath(t)
	return server.Created(path, toChat(r, t, issues)).WithRevision(t.Revision).ReadableAt(path), nil
}
