package chats

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func chatExportOperations() []server.Operation {
	return []server.Operation{
		server.Post("/api/chat-templates/import", server.Command(importChat)),
		server.Get("/api/chat-templates/{template_id}/export", server.Query(exportChat)),
	}
}

func exportChat(r *server.Call) (server.Reply, error) {
	t, err := r.Chats.Inside(r.Context(), r.By, chatID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.ChatExport{
		Format:  openapi.ChatExportFormatAtriumChat1,
		Content: toChatContent(&t.Content),
	}).WithRevision(t.Revision), nil
}

// importChat creates a draft from an export. What the export names in its own workspace can be replaced.
func importChat(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.ChatImport](r)
	if err != nil {
		return server.Reply{}, err
	}
	c := fromChatContent(&in.Export.Content)
	if in.Name != "" {
		c.Name = in.Name
	}
	if in.PromptTemplateID.IsSpecified() {
		if in.PromptTemplateID.IsNull() {
			c.Prompt = chat.Prompt{}
		} else {
			c.Prompt.Template = prompt.ID(in.PromptTemplateID.MustGet())
		}
	}
	if in.ConnectionID.IsSpecified() {
		if in.ConnectionID.IsNull() {
			c.Reply = chat.Reply{Kind: chat.NoReply}
		} else {
			c.Reply.Connection = connection.ID(in.ConnectionID.MustGet())
		}
	}
	t, err := r.Chats.Import(r.Context(), r.By, chats.Imported{
		Draft:     chat.Draft{Content: c, Visibility: access.Visibility(in.Visibility)},
		Workflows: in.Export.Content.Workflows,
	})
	if err != nil {
		return server.Reply{}, err
	}
	return newChatReply(r, t)
}

// fromChatContent is the inverse of toChatContent, but for the workflows, which are attached.
func fromChatContent(in *openapi.ChatContent) chat.Content {
	c := chat.Content{
		Name:         in.Name,
		Description:  in.Description,
		Instructions: in.Instructions,
		Agents:       toSelected(in.Agents),
		Tools:        toSelected(in.Tools),
		Capabilities: in.Capabilities,
		Model:        convert.ToModel(in.ModelConfig),
		Greeting:     in.Greeting,
		Starters:     in.ConversationStarters,
		Translations: convert.Slice(in.Translations, convert.ToTranslation),
		Metadata:     in.Metadata,
		Reply:        toReply(&in.Reply),
		Theme:        convert.ToTheme(&in.Theme),
	}
	if in.AvatarURL.IsSpecified() && !in.AvatarURL.IsNull() {
		c.AvatarURL = in.AvatarURL.MustGet()
	}
	if in.Prompt.IsSpecified() && !in.Prompt.IsNull() {
		c.Prompt = toChatPrompt(in.Prompt.MustGet())
	}
	return c
}
