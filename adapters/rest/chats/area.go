// Package chats serves chat templates and their versions.
package chats

import (
	"slices"

	"github.com/atrium-hq/atrium/adapters/rest/server"
)

// Area returns the area of chat templates.
func Area() server.Area {
	return server.Area{
		Name:       "chats",
		Operations: slices.Concat(chatExportOperations(), chatOperations(), chatVersionOperations()),
	}
}

func chatOperations() []server.Operation {
	const template = "/api/chat-templates/{template_id}"
	return []server.Operation{
		server.Get("/api/chat-templates", server.CachedQuery(listChats)),
		server.Post("/api/chat-templates", server.Command(createChat)),
		server.Get("/api/chat-templates/registry", server.Query(getRegistry)), // before the route of any id
		server.Get(template, server.CachedQuery(getChat)),
		server.Get(template+"/runtime", server.CachedQuery(getChatRuntime)),
		server.Patch(template, server.Command(updateChat)),
		server.Delete(template, server.Command(deleteChat)),
		server.Post(template+"/restore", server.Command(restoreChat)),
		server.Get(template+"/members", server.Query(listChatMembers)),
		server.Post(template+"/members", server.Command(createChatMember)),
		server.Post(template+"/members/batch", server.Command(changeChatMembers)),
		server.Patch(template+"/members/{user_id}", server.Command(updateChatMember)),
		server.Delete(template+"/members/{user_id}", server.Command(deleteChatMember)),
		server.Post(template+"/workflows/{workflow_id}", server.Command(attachWorkflow)),
		server.Delete(template+"/workflows/{workflow_id}", server.Command(detachWorkflow)),
	}
}
