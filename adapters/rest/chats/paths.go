package chats

import (
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/chat"
)

func chatPath(t *chat.Template) string { return "/api/chat-templates/" + string(t.ID) }

func chatID(r *server.Call) chat.ID { return server.PathID[chat.ID](r, "template_id", chat.Prefix) }
