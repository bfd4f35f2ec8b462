package rest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/page"
)

func chatOperations() []operation {
	const template = "/api/chat-templates/{template_id}"
	return []operation{
		getOf("/api/chat-templates", cachedQuery(listChats)),
		postOf("/api/chat-templates", command(createChat)),
		getOf("/api/chat-templates/registry", query(getRegistry)), // before the route of any id
		getOf(template, cachedQuery(getChat)),
		getOf(template+"/runtime", cachedQuery(getChatRuntime)),
		patchOf(template, command(updateChat)),
		deleteOf(template, command(deleteChat)),
		postOf(template+"/restore", command(restoreChat)),
		getOf(template+"/members", query(listChatMembers)),
		postOf(template+"/members", command(createChatMember)),
		postOf(template+"/members/batch", command(changeChatMembers)),
		patchOf(template+"/members/{user_id}", command(updateChatMember)),
		deleteOf(template+"/members/{user_id}", command(deleteChatMember)),
		postOf(template+"/workflows/{workflow_id}", command(attachWorkflow)),
		deleteOf(template+"/workflows/{workflow_id}", command(detachWorkflow)),
	}
}

func chatPath(t *chat.Template) string { return "/api/chat-templates/" + string(t.ID) }

func listChats(r *request) (reply, error) {
	f := chatFilter(r.query)
	return listing(r, mapFor(r, toChatSummary), func(q page.Query) (chat.Page, error) {
		return r.Chats.List(r.Context(), r.by, f, q)
	})
}

func createChat(r *request) (reply, error) {
	in, err := decode[openapi.ChatTemplateCreate](r)
	if err != nil {
		return reply{}, err
	}
	t, err := r.Chats.Create(r.Context(), r.by, chatDraft(in))
	if err != nil {
		return reply{}, err
	}
	return created(chatPath(t), toChat(r, t)).withRevision(t.Revision).readableAt(chatPath(t)), nil
}

func getChat(r *request) (reply, error) {
	t, err := r.Chats.Get(r.Context(), r.by, chatID(r))
	return chatReply(r, t, err)
}

var errVariables = &fault.Error{Kind: fault.Malformed, Code: "invalid_parameter",
	Detail: "The query parameter variables must be a JSON object."}

func getChatRuntime(r *request) (reply, error) {
	r.trackedOnly = true
	values := map[string]any{}
	if r.query.Has("variables") {
		text := r.query.Get("variables")
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber() // large integers keep every digit
		if !json.Valid([]byte(text)) || d.Decode(&values) != nil || values == nil {
			return reply{}, errVariables
		}
	}
	found, err := r.Replies.Runtime(r.Context(), r.by, chatID(r), values)
	if err != nil {
		return reply{}, err
	}
	if found.Version != nil {
		id := found.Version.ID
		r.delivered = func(to *request) { to.PromptReads.Record(to.by, id) }
	}
	return ok(toChatRuntime(found)).withRevision(found.Template.Revision), nil
}

func updateChat(r *request) (reply, error) {
	in, err := decode[openapi.ChatTemplatePatch](r)
	if err != nil {
		return reply{}, err
	}
	t, err := r.Chats.Change(r.Context(), r.by, chatID(r), r.match, chatChanges(in))
	return chatReply(r, t, err)
}

func deleteChat(r *request) (reply, error) {
	return noContent, r.Chats.Delete(r.Context(), r.by, chatID(r), r.match)
}

func restoreChat(r *request) (reply, error) {
	t, err := r.Chats.Restore(r.Context(), r.by, chatID(r))
	return chatReply(r, t, err)
}

func attachWorkflow(r *request) (reply, error) {
	t, w, attached, err := r.Chats.AttachWorkflow(r.Context(), r.by, chatID(r), pathVar(r.Request, "workflow_id"))
	if err != nil {
		return reply{}, err
	}
	out := ok(toWorkflow(&w))
	if attached {
		out = created("/api/chat-templates/"+string(t.ID)+"/workflows/"+w.ID, toWorkflow(&w))
	}
	return out.withRevision(t.Revision), nil
}

func detachWorkflow(r *request) (reply, error) {
	return noContent, r.Chats.DetachWorkflow(r.Context(), r.by, chatID(r), r.match, pathVar(r.Request, "workflow_id"))
}

func getRegistry(r *request) (reply, error) {
	of := r.Chats.Registry(r.by)
	return ok(openapi.ChatRegistry{
		Revision:     of.Revision,
		Agents:       convert.Slice(of.Agents, toRegistryItem),
		Tools:        convert.Slice(of.Tools, toRegistryItem),
		Capabilities: convert.Slice(of.Capabilities, toRegistryItem),
		Workflows:    convert.Slice(of.Workflows, toRegistryItem),
	}).withRevision(1), nil // the API cannot change it, so the tag's hash identifies it
}

func chatReply(r *request, t *chat.Template, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return ok(toChat(r, t)).withRevision(t.Revision).readableAt(chatPath(t)), nil
}

func chatID(r *request) chat.ID { return pathID[chat.ID](r, "template_id", chat.Prefix) }

func chatsArea() area {
	return area{
		name:       "chats",
		operations: slices.Concat(chatExportOperations(), chatOperations(), chatVersionOperations()),
	}
}
